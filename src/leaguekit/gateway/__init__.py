"""The gateway: it lets people and programs play in a league without a server of their own.

seats        a seat: a whole player, whose moves its owner makes
gateway      the gateway itself: its seats with their codes, which are kept for the next run, and its relays
relays       players behind a router: the calls for them are passed on
mcp_surface  the seats' interface for MCP clients, such as chat applications
app          the seats' interface for browsers
server       all of it at one address
"""
