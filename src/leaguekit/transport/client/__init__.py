"""The HTTP client of an agent: calls with one deadline, to allowed addresses only."""
