"""The conformance kit for players, referees and managers."""
