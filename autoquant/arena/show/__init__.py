"""A race for eyes and machines: status, tables, live display."""
