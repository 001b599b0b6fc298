"""The dialects of league.v2 that other people's agents speak, for the ``open`` profile.

    forms      the forms of a request, in the order in which they are tried
    requests   encodes requests with all fields that any agent requires, and reads requests in any form
    responses  finds the message in an agent's answer, wherever it is
    repairs    adds what a message lacks, and notes the rules that it broke

Nothing here does input or output, and a process of the ``spec`` profile never imports it. MCP is not a form of one
request but a protocol of its own: see ``transport.mcp.calling``.
"""
