"""The referee: registers, plays the matches that it is assigned, and reports their results.

referee             the program's server side: RefereeAgent answers the manager and the players
match_supervisor    takes each match from its assignment to its report
match_runner        plays one match: the shell around the state machine of ``leaguekit.match``
match_messages      makes the messages of one match
player_client       calls players as the documents say; ``open_player_client`` in any form that a player understands
player_notifier     sends the messages to players that need no answer
manager_client      calls the manager
ruling_journal      writes rulings to disk before they are sent
open_profile        accepts posted messages in any form
announced_matches   starts matches without assignments
transcripts         what happened in a match; ``match_file`` is its file
"""
