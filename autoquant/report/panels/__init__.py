"""The page, panel by panel: what each needs beside the race itself, by the names its template uses."""
