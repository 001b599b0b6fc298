"""MCP, at the same URL as league.v2.

surface   describes what a server offers by MCP (tools, resources, prompts), without the SDK
typed     tools whose arguments and results are Structs
methods   the methods of league.v2 as tools
lazy_app  the ASGI application: loads the SDK at the first MCP request, limits, starts and stops it
sdk       serves a surface with the official SDK; the only module that imports it
client    calls tools of other MCP servers, without the SDK
calling   a caller that reaches players which are plain MCP servers as if they spoke league.v2

``transport.server.mcp_detection`` decides which requests belong to MCP.
"""
