"""What the manager does without a request: it runs the league round by round, and informs all agents."""
