"""The League Manager: registers agents, runs the league, records results, and answers queries.

Answering requests:

- ``server``: the HTTP server and its routes.
- ``manager``: the handler of each message.
- ``match_reports``, ``sender_check``: what referees send about matches, and whose token a request has.
- ``admission``, ``reachability``, ``refused_registrations``: registration, and the checks of an applicant's endpoint.
- ``operator``, ``operator_queries``: the operator's commands.
- ``query_cache``: the encoded answers to queries.
- ``mcp_surface``: the manager's tools and resources by MCP.
- ``open_profile``: requests in other forms than that of document 001.

Running the league, in ``rounds``:

- ``league_runner``: starts the league, lets rounds be drawn and announced, and reacts to events.
- ``announcements``, ``final_messages``: the first and the last messages: a round begins, the league is over.
- ``assignments``: gives matches to referees, and pings the referees.
- ``progress_reports``: how far the matches in play are, and which players are silent.
- ``league_messages``, ``publishing``: make messages to all agents, and order them. ``manager.broadcasts`` sends them.
- ``outages``, ``returning_agents``: agents that cannot be reached, or are starting again.
- ``pairing_engine``: the optional library that draws the rounds of a Swiss.

State:

- ``ledger``, ``writer_check``: the state of the league and its event log, which another program may take over.
- ``views``: JSON files for other tools.
- ``metrics``: counts and durations.
"""
