"""Real MCP: the server behind /mcp, its clients, and the official checks."""
