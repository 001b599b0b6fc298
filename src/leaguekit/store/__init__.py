"""The event log: in memory, SQLite, PostgreSQL; and the JSON file views."""
