"""Who races: competitors.toml read strictly, replicates and budgets."""
