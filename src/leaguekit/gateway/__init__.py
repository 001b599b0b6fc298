"""The gateway: seats in a league for those who can host no server of their own.

seats     a seat: a whole player, which waits for its owner's moves
house     the gateway itself: seats and their codes, kept for the next run
relays    players behind a router, whose calls are passed on
surface   a seat by MCP: for chat applications and other models
app       a seat in the browser: the page, and what it asks for
server    all of it at one address
"""
