"""Statistics: arrays in, numbers out. Sharpe inference and the bootstrap; comparison comes with the report."""
