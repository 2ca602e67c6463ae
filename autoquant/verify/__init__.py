"""A race for strangers: pack it in one file, and check such a file, or a race, without trusting who ran it."""
