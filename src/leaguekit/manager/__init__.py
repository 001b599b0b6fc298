"""The League Manager: registers agents, runs the league, records results, and answers queries.

Answering requests:

- ``server``: the HTTP server and its routes.
- ``manager``: the handler of each message.
- ``admission``, ``reachability``: registration, and the checks of an applicant's endpoint.
- ``operator``: the operator's commands.
- ``query_cache``: the encoded answers to queries.
- ``mcp_surface``: the manager's tools and resources by MCP.
- ``open_profile``: requests in other forms than that of document 001.

Running the league:

- ``league_runner``: starts the league, lets rounds be drawn and announced, and reacts to events.
- ``announcements``, ``final_messages``: the first and the last messages: a round begins, the league is over.
- ``assignments``: gives matches to referees, and pings the referees.
- ``progress_reports``: how far the matches in play are, and which players are silent.
- ``league_messages``, ``publishing``, ``broadcasts``: make messages to all agents, order them, and send them.
- ``outages``, ``returning_agents``: agents that cannot be reached, or are starting again.

State:

- ``ledger``: the state of the league, and its event log.
- ``views``: JSON files for other tools.
- ``metrics``: counts and durations.
"""
