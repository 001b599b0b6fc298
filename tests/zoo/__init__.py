"""The zoo: broken and foreign agents, kept for the tests."""
