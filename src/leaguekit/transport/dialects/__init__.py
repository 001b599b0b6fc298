"""How agents in the field really speak league.v2, for the ``open`` profile: all that is known of it is in this package.

    forms     the forms that a request takes; one row each, in the order in which they are tried
    requests  what we send, with all that anybody insists on; and what comes, in whatever form
    answers   what an agent's answer amounts to, wherever in it the message is
    repairs   a message with what it lacks put in, and the rules that it broke

Nothing here does input or output, and a process of the ``spec`` profile never imports it. Real MCP is no form of one
request but a conversation of its own: it would be a row of ``forms`` with a client behind it.
"""
