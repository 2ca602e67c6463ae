"""The race: worktrees, mailbox, referee, supervisor, lockbox, doctor."""
