"""Real MCP, beside league.v2 at the same URL: everything that speaks it or decides who does.

routing   which requests to /mcp are MCP's, and which the league's
surface   what a server offers by MCP (tools, resources, prompts), without knowing how
typed     tools with Structs for what they take and give
methods   the tools that league.v2's own methods make
queue     the order in which MCP requests are begun, and the pauses between them
door      the way in: loads the SDK when the first MCP request comes, limits, starts and stops
sdk       a surface served by the official SDK; the only module that imports it
client    calls of tools at other people's MCP servers, over the guarded caller and without the SDK
calling   a caller that reaches players which are plain MCP servers as if they spoke league.v2
"""
