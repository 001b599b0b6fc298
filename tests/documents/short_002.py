"""The requirements of document 002, the short specification."""

from __future__ import annotations

from tests.documents.rows import (
    ERROR_CODE,
    MATCH_ID,
    PLAYER_ID,
    REFEREE_ID,
    SEMVER,
    SENDER,
    TIMESTAMP,
    URL,
    Document,
    array,
    integer,
    nullable,
    obj,
    one_of,
    text,
)

DOCUMENT = Document("002")
field = DOCUMENT.field
rule = DOCUMENT.rule
error = DOCUMENT.error
limit = DOCUMENT.limit

# Overview
rule(3, "The protocol calls itself league.v2.", decision=8)
rule(24, "The manager runs leagues, their rounds and the standings.")
rule(25, "A referee runs single matches and sees that the game's rules are kept.")
rule(26, "A player takes part in matches and makes the game's choices.")
rule(32, "One manager stands above all referees.")
rule(40, "A league may have several referees, each with an id such as REF01.", decision=7)
rule(44, "A referee talks to the two players of its match.")
rule(47, "Players have ids such as P01.", decision=7)

# Transport
rule(57, "Every message travels inside a JSON-RPC 2.0 envelope.")
rule(63, "A request says jsonrpc 2.0.")
rule(64, "A request's method is its message type.", otherwise=1)
rule(65, "A request's params hold the message: its common fields and its own fields together.")
rule(73, "A request's id is an integer that counts up.", decision=2)
rule(81, "An answer says jsonrpc 2.0.")
rule(82, "A successful answer holds its message in result.")
rule(83, "The message in result names the protocol.", decision=4)
rule(84, "The message in result names its own message type.", decision=4)
rule(87, "An answer repeats the id of its request.", decision=2)
rule(95, "A failed answer says jsonrpc 2.0.")
rule(96, "A failed answer holds an error object in place of result.")
rule(97, "The error object's code is an integer.", decision=10)
rule(98, "The error object's message says what went wrong.", decision=10)
rule(100, "A failed answer repeats the id of its request.", decision=2)

# Common fields
rule(106, "Every message has all five common fields.", decision=4)
field(110, "*", "protocol", "Every message names the protocol league.v2.", one_of("league.v2"), decision=8)
field(111, "*", "message_type", "Every message names its type.", text(1))
field(112, "*", "sender", "Every message names its sender, as in player:P01.", SENDER, decision=3)
field(113, "*", "timestamp", "Every message has the ISO 8601 time of its making.", TIMESTAMP, decision=5)
field(114, "*", "conversation_id", "Every message names the conversation it belongs to.", text(), decision=4)

# Message types: the manager's
rule(124, "ROUND_ANNOUNCEMENT goes from the manager to everybody and lists a new round's matches.", decision=22)
rule(125, "ROUND_COMPLETED goes from the manager to the players when a round is over.", decision=22)
rule(126, "LEAGUE_STANDINGS_UPDATE goes from the manager to the players after a round.", decision=25)
rule(127, "LEAGUE_COMPLETED goes from the manager to everybody when the league is over.")
rule(128, "LEAGUE_QUERY_RESPONSE goes from the manager to the agent that asked.")
rule(129, "LEAGUE_ERROR goes from the manager to an agent and tells of an error of the league.")

# Message types: the referee's
rule(135, "REFEREE_REGISTER_REQUEST goes from a referee to the manager to register it.")
rule(136, "GAME_INVITATION goes from a referee to a player to call it to a match.")
rule(137, "CHOOSE_PARITY_CALL goes from a referee to a player to ask for its choice.")
rule(138, "GAME_OVER goes from a referee to the players with the result.")
rule(139, "MATCH_RESULT_REPORT goes from a referee to the manager with the result.")
rule(140, "GAME_ERROR goes from a referee to a player and tells of an error in the game.")

# Message types: the player's
rule(146, "LEAGUE_REGISTER_REQUEST goes from a player to the manager to register it.")
rule(147, "GAME_JOIN_ACK goes from a player to the referee to take up an invitation.")
rule(148, "CHOOSE_PARITY_RESPONSE goes from a player to the referee with its choice.")
rule(149, "LEAGUE_QUERY goes from a player to the manager to ask about the league.", decision=29)

# Registration of a referee
rule(158, "A referee registers by sending REFEREE_REGISTER_REQUEST to the manager.")
rule(159, "A referee's registration is an HTTP POST to /mcp.")
REQUEST = "REFEREE_REGISTER_REQUEST"
field(163, REQUEST, "message_type", "The request names its type.", one_of("REFEREE_REGISTER_REQUEST"))
field(164, REQUEST, "referee_meta", "The request describes the referee.", obj())
field(165, REQUEST, "referee_meta.display_name", "The referee has a name for people.", text())
field(166, REQUEST, "referee_meta.version", "The referee states its version.", SEMVER)
field(
    167,
    REQUEST,
    "referee_meta.game_types",
    "The referee lists the games it supports.",
    array(of=text(1)),
    decision=16,
)
field(
    168,
    REQUEST,
    "referee_meta.contact_endpoint",
    "The referee gives the HTTP address it answers at.",
    URL,
    decision=20,
)
field(
    169,
    REQUEST,
    "referee_meta.max_concurrent_matches",
    "The referee may say how many matches it can run at once.",
    integer(1),
    required=False,
    decision=17,
)
rule(171, "The manager answers REFEREE_REGISTER_REQUEST with REFEREE_REGISTER_RESPONSE.", decision=14)
RESPONSE = "REFEREE_REGISTER_RESPONSE"
field(175, RESPONSE, "status", "The answer says ACCEPTED or REJECTED.", one_of("ACCEPTED", "REJECTED"), decision=14)
field(176, RESPONSE, "referee_id", "The answer has the id given to the referee.", REFEREE_ID, otherwise=14)
field(
    177,
    RESPONSE,
    "reason",
    "The answer may say why the referee was refused.",
    nullable(text()),
    required=False,
    decision=14,
)

# Registration of a player
rule(182, "A player registers by sending LEAGUE_REGISTER_REQUEST to the manager.")
rule(183, "A player's registration is an HTTP POST to /mcp.")
REQUEST = "LEAGUE_REGISTER_REQUEST"
field(187, REQUEST, "message_type", "The request names its type.", one_of("LEAGUE_REGISTER_REQUEST"))
field(188, REQUEST, "player_meta", "The request describes the player.", obj())
field(189, REQUEST, "player_meta.display_name", "The player has a name for people.", text(), decision=15)
field(190, REQUEST, "player_meta.version", "The player states its version.", SEMVER)
field(
    191,
    REQUEST,
    "player_meta.game_types",
    "The player lists the games it supports.",
    array(of=text(1)),
    decision=16,
)
field(
    192,
    REQUEST,
    "player_meta.contact_endpoint",
    "The player gives the HTTP address it answers at.",
    URL,
    decision=20,
)
rule(194, "The manager answers LEAGUE_REGISTER_REQUEST with LEAGUE_REGISTER_RESPONSE.", decision=14)
RESPONSE = "LEAGUE_REGISTER_RESPONSE"
field(198, RESPONSE, "status", "The answer says ACCEPTED or REJECTED.", one_of("ACCEPTED", "REJECTED"), decision=14)
field(199, RESPONSE, "player_id", "The answer has the id given to the player.", PLAYER_ID, otherwise=14)
field(
    200,
    RESPONSE,
    "reason",
    "The answer may say why the player was refused.",
    nullable(text()),
    required=False,
    decision=14,
)

# A match, step by step
rule(209, "First the referee sends GAME_INVITATION to each player.")
limit(210, "A player has 5 seconds to answer its invitation.", decision=30)
rule(212, "Second, each player answers the referee with GAME_JOIN_ACK.")
rule(213, "The match goes on only when both players have acknowledged.")
rule(215, "Third, the referee sends CHOOSE_PARITY_CALL to each player.")
limit(216, "A player has 30 seconds to make its choice.", decision=30)
rule(218, "Fourth, each player answers the referee with CHOOSE_PARITY_RESPONSE.")
rule(219, "The choice is even or odd.", decision=11)
rule(221, "Fifth, the referee sends GAME_OVER to both players.", decision=34)
rule(222, "GAME_OVER tells the winner, the number drawn and the choices.", decision=33)
rule(224, "Sixth, the referee sends MATCH_RESULT_REPORT to the manager.", decision=34)
rule(225, "The report is what makes a result official.")

# GAME_INVITATION
limit(231, "GAME_INVITATION must be answered within 5 seconds.", decision=30)
MESSAGE = "GAME_INVITATION"
field(235, MESSAGE, "league_id", "The invitation names the league.", text())
field(236, MESSAGE, "round_id", "The invitation has the number of the round.", integer(1))
field(237, MESSAGE, "match_id", "The invitation has the match's unique id.", MATCH_ID)
field(238, MESSAGE, "game_type", "The invitation names the game, such as even_odd.", text(1))
field(
    239,
    MESSAGE,
    "role_in_match",
    "The invitation says whether the player is PLAYER_A or PLAYER_B.",
    one_of("PLAYER_A", "PLAYER_B"),
)
field(240, MESSAGE, "opponent_id", "The invitation names the other player.", PLAYER_ID)

# CHOOSE_PARITY_CALL
rule(244, "The referee asks for a choice with CHOOSE_PARITY_CALL.")
limit(245, "CHOOSE_PARITY_CALL must be answered within 30 seconds.", decision=30)
MESSAGE = "CHOOSE_PARITY_CALL"
field(249, MESSAGE, "match_id", "The call names the match.", MATCH_ID)
field(250, MESSAGE, "player_id", "The call names the player it asks.", PLAYER_ID)
field(251, MESSAGE, "game_type", "The call names the game, here even_odd.", text(1))
field(252, MESSAGE, "context", "The call says how things stand.", obj())
field(253, MESSAGE, "context.opponent_id", "The context names the other player.", PLAYER_ID)
field(254, MESSAGE, "context.round_id", "The context has the number of the round.", integer(1))
field(255, MESSAGE, "context.your_standings", "The context has the player's own record so far.", obj())
field(256, MESSAGE, "deadline", "The call says until when it must be answered.", TIMESTAMP, decision=5)

# CHOOSE_PARITY_RESPONSE
rule(258, "A player answers CHOOSE_PARITY_CALL with CHOOSE_PARITY_RESPONSE.")
MESSAGE = "CHOOSE_PARITY_RESPONSE"
field(262, MESSAGE, "match_id", "The response names the match.", MATCH_ID)
field(263, MESSAGE, "player_id", "The response names the player that chose.", PLAYER_ID)
field(264, MESSAGE, "parity_choice", "The choice is even or odd.", one_of("even", "odd"), decision=11)

# GAME_OVER
rule(268, "A match's result is announced with GAME_OVER.")
MESSAGE = "GAME_OVER"
field(272, MESSAGE, "match_id", "GAME_OVER names the match.", MATCH_ID)
field(273, MESSAGE, "game_type", "GAME_OVER names the game.", text(1))
field(274, MESSAGE, "game_result", "GAME_OVER has the result in detail.", obj())
field(
    275,
    MESSAGE,
    "game_result.status",
    "The result is WIN, DRAW or TECHNICAL_LOSS.",
    one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
)
field(
    276,
    MESSAGE,
    "game_result.winner_player_id",
    "The result names the winner when somebody won.",
    nullable(PLAYER_ID),
    required=False,
)
field(277, MESSAGE, "game_result.drawn_number", "The result has the number drawn at random.", integer(), otherwise=33)
field(
    278,
    MESSAGE,
    "game_result.number_parity",
    "The result says whether the number is even or odd.",
    one_of("even", "odd"),
    otherwise=33,
)
field(279, MESSAGE, "game_result.choices", "The result has each player's choice by its id.", obj(), decision=33)
field(
    280,
    MESSAGE,
    "game_result.reason",
    "The result may explain itself to people.",
    text(),
    required=False,
    decision=34,
)

# Error codes
error(290, "E001 TIMEOUT_ERROR, of high severity, means that an answer came too late.", decision=9)
error(291, "E003 MISSING_REQUIRED_FIELD, of high severity, means that a needed field is absent.", decision=9)
error(292, "E004 INVALID_PARITY_CHOICE, of high severity, means that a choice has a wrong value.", decision=9)
error(293, "E005 PLAYER_NOT_REGISTERED, of high severity, means that nobody knows the player's id.", decision=9)
error(294, "E009 CONNECTION_ERROR, of critical severity, means that the network failed.", decision=9)
error(295, "E011 AUTH_TOKEN_MISSING, of high severity, means that no token was shown.", decision=9)
error(296, "E012 AUTH_TOKEN_INVALID, of high severity, means that a wrong token was shown.", decision=9)
error(297, "E021 INVALID_TIMESTAMP, of medium severity, means that a time is malformed.", decision=9)

# Error messages: the same fields at the match (a) and in the league (b)
rule(301, "GAME_ERROR and LEAGUE_ERROR have the same structure.", decision=13)
MATCH, LEAGUE = "GAME_ERROR", "LEAGUE_ERROR"
field(305, MATCH, "error_code", "A game error has a code such as E001.", ERROR_CODE, decision=9, letter="a")
field(305, LEAGUE, "error_code", "A league error has a code such as E001.", ERROR_CODE, decision=9, letter="b")
field(306, MATCH, "error_description", "A game error gives the error's name.", text(1), decision=12, letter="a")
field(306, LEAGUE, "error_description", "A league error gives the error's name.", text(1), decision=12, letter="b")
field(307, MATCH, "affected_player", "A game error names the player concerned.", PLAYER_ID, decision=13, letter="a")
field(307, LEAGUE, "affected_player", "A league error names the player concerned.", PLAYER_ID, otherwise=13, letter="b")
field(308, MATCH, "action_required", "A game error says what is expected next.", text(), decision=13, letter="a")
field(308, LEAGUE, "action_required", "A league error says what is expected next.", text(), decision=13, letter="b")
field(309, MATCH, "retry_info", "A game error may tell of retries.", obj(), required=False, decision=13, letter="a")
field(309, LEAGUE, "retry_info", "A league error may tell of retries.", obj(), required=False, decision=13, letter="b")
field(
    310,
    MATCH,
    "retry_info.retry_count",
    "A game error may say which retry this is.",
    integer(0),
    required=False,
    decision=13,
    letter="a",
)
field(
    310,
    LEAGUE,
    "retry_info.retry_count",
    "A league error may say which retry this is.",
    integer(0),
    required=False,
    decision=13,
    letter="b",
)
field(
    311,
    MATCH,
    "retry_info.max_retries",
    "A game error may say how many retries there are.",
    integer(0),
    required=False,
    decision=13,
    letter="a",
)
field(
    311,
    LEAGUE,
    "retry_info.max_retries",
    "A league error may say how many retries there are.",
    integer(0),
    required=False,
    decision=13,
    letter="b",
)
field(
    312,
    MATCH,
    "retry_info.next_retry_at",
    "A game error may say when the next retry comes.",
    TIMESTAMP,
    required=False,
    decision=13,
    letter="a",
)
field(
    312,
    LEAGUE,
    "retry_info.next_retry_at",
    "A league error may say when the next retry comes.",
    TIMESTAMP,
    required=False,
    decision=13,
    letter="b",
)
field(
    313,
    MATCH,
    "consequence",
    "A game error may say what follows if nothing changes.",
    text(),
    required=False,
    decision=13,
    letter="a",
)
field(
    313,
    LEAGUE,
    "consequence",
    "A league error may say what follows if nothing changes.",
    text(),
    required=False,
    decision=13,
    letter="b",
)

# Time limits and retries
limit(323, "A player whose GAME_JOIN_ACK is not there in 5 seconds forfeits the match.", decision=30)
limit(324, "A player whose CHOOSE_PARITY_RESPONSE is not there in 30 seconds has a technical loss.", decision=30)
limit(325, "A registration that is not answered in 10 seconds has failed.")
limit(326, "Any other message not answered in 10 seconds is sent again or is an error.", decision=30)
limit(330, "A failed message is retried at most 3 times.", decision=30)
limit(331, "The waits before the retries are 1, 2 and 4 seconds.", otherwise=30)
limit(332, "After 5 failures in a row the circuit breaker opens.", decision=30)

# Appendix
rule(338, "There are complete examples of messages in JSON, in a folder of their own.")
rule(340, "The folder registration has the messages of the registration.")
rule(341, "The folder gameflow has the messages of a game.")
rule(342, "The folder errors has the error messages.")
