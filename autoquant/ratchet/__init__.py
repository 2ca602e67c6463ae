"""Search and official decisions, lineage archive, feedback. Pure functions over score records."""
