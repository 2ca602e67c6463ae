"""run.py's side of an experiment: hand a strategy in, wait, print the verdict."""
