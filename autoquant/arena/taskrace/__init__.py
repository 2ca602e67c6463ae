"""The graded track as a race: every competitor on each task in a folder of its own, twenty steps, hidden bars once."""
