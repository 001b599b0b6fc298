"""The HTTP server of an agent: its connections, their limits, and the requests on them."""
