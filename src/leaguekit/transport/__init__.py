"""HTTP: the server side of /mcp, the guarded caller, dialects, real MCP; and the in-memory transport."""
