"""Agents' programs: started, watched, heard, ended, classed, and what they spent."""
