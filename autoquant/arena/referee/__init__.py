"""The arena's side of an experiment: mailbox, worktrees, audit, judging, delivery."""
