"""The requirements of document 003, the general league protocol."""

from __future__ import annotations

from tests.documents.rows import (
    ERROR_CODE,
    MATCH_ID,
    PLAYER_ID,
    SEMVER,
    SENDER,
    TIMESTAMP,
    Document,
    array,
    boolean,
    integer,
    obj,
    one_of,
    text,
)

DOCUMENT = Document("003")
field = DOCUMENT.field
rule = DOCUMENT.rule
error = DOCUMENT.error
state = DOCUMENT.state
limit = DOCUMENT.limit

# 2.1 Principles
rule(4, "An agent may be written in any language.", letter="a")
rule(4, "Any agent that keeps to the protocol may take part in the league.", letter="b")
rule(8, "The league layer holds the tournament, the registrations and the standings.")
rule(9, "The refereeing layer runs one match, checks its moves and names its winner.")
rule(10, "The game layer holds the rules of one particular game.")
rule(12, "Another game can take the place of the game layer while the protocol stays as it is.")

# 2.2.1 League manager
rule(17, "A league has exactly one manager.")
rule(18, "The manager registers the players.")
rule(19, "The manager makes a round-robin schedule.", decision=28)
rule(20, "The manager takes results from the referees.")
rule(21, "The manager works out the standings and publishes them.", decision=25)
rule(23, "The manager is an MCP server at port 8000.")

# 2.2.2 Referee
rule(26, "Running a single match is the task of a referee.", decision=17, letter="a")
rule(26, "A referee gets no match before it has registered with the manager.", letter="b")
rule(28, "A referee registers with the manager before the league starts.", decision=21)
rule(29, "The referee invites both players to their match.")
rule(30, "The referee leads the turns of the match.")
rule(31, "The referee checks that each move is legal.", decision=31)
rule(32, "The referee declares the result.", letter="a")
rule(32, "The referee reports the result to the league.", letter="b")
rule(34, "A referee is an MCP server, the first at port 8001.", letter="a")
rule(34, "There may be several referees, at the ports 8001 to 8010.", letter="b")

# 2.2.3 Player
rule(37, "A player agent stands for one player of the league.")
rule(38, "A player registers with the league.")
rule(39, "A player takes up invitations to its matches.")
rule(40, "A player chooses its moves.")
rule(41, "A player brings its own records up to date with each result.", decision=35)
rule(43, "Each player has a port of its own, 8101 to 8104 in a league of four.")

# 2.3 Identifiers
rule(46, "Each part of the system has an identifier that nothing else has.")
rule(52, "league_id is a string that names one league.")
rule(53, "round_id is an integer, the number of a round.")
rule(54, "match_id is a string that names one match.")
rule(55, "game_type is a string that names the kind of game.")
rule(56, "player_id is a string that names one player.")
rule(57, "referee_id is a string that names one referee.")
rule(58, "conversation_id is a string that names one conversation.")
rule(61, "A league_id looks like league_2025_even_odd.")
rule(62, "Rounds are numbered 1, 2, 3 and so on.")
rule(63, "A match_id is R, the round, M and the match in that round, as in R1M1.")
rule(64, "A game_type is a word such as even_odd or tic_tac_toe.")
rule(65, "A player_id is P and two digits, from P01 on.", otherwise=7)
rule(66, "A referee_id is REF and two digits, from REF01 on.", otherwise=7)

# 2.4 Envelope
rule(69, "Every message has the envelope and its fixed fields.", decision=4)
field(92, "*", "protocol", "The envelope names the protocol league.v2.", one_of("league.v2"), decision=8)
field(93, "*", "message_type", "The envelope names the message's type.", text(1))
field(94, "*", "sender", "The envelope names the sender as type:id.", SENDER, otherwise=3)
field(95, "*", "timestamp", "The envelope has an ISO 8601 time in UTC.", TIMESTAMP, decision=5)
field(96, "*", "conversation_id", "The envelope has the conversation's unique id.", text(), decision=4)
rule(99, "Every time in the protocol is in UTC.", decision=5)
rule(105, "A timestamp that ends in Z is valid.", decision=5)
rule(106, "A timestamp that ends in +00:00 is valid.", decision=5)
rule(107, "A timestamp of another zone, such as +02:00, is invalid.", decision=5)
rule(108, "A timestamp without a zone is invalid.", decision=5)
error(110, "An agent whose timestamp is not in UTC is answered with E021 INVALID_TIMESTAMP.", decision=5)
field(
    118,
    "*",
    "auth_token",
    "A message may show a token, and must once its sender has registered.",
    text(),
    required=False,
    decision=19,
)
field(119, "*", "league_id", "A message may name the league.", text(), required=False)
field(120, "*", "round_id", "A message may have the number of the round.", integer(1), required=False)
field(121, "*", "match_id", "A message may name the match.", MATCH_ID, required=False)
rule(125, "The manager's sender is the bare word league_manager.", decision=3)
rule(126, "A referee's sender is its type and id, as in referee:REF01.", decision=3)
rule(127, "A player's sender is its type and id, as in player:P01.", decision=3)
rule(130, "An agent gets an auth_token when its registration succeeds.", decision=18, letter="a")
rule(130, "An agent shows its token in every message after its registration.", otherwise=19, letter="b")
rule(130, "The token keeps agents from speaking in each other's name.", decision=19, letter="c")
MESSAGE = "LEAGUE_REGISTER_RESPONSE"
field(
    136, MESSAGE, "status", "The answer says how the registration ended.", one_of("ACCEPTED", "REJECTED"), decision=14
)
field(137, MESSAGE, "player_id", "An accepted player gets its id.", PLAYER_ID, required=False, otherwise=14)
field(138, MESSAGE, "auth_token", "An accepted player gets its token.", text(1), required=False, decision=18)

# 2.5 Flow
rule(145, "Referees register before anybody else.", letter="a")
rule(145, "The manager gives each referee its referee_id.", decision=14, letter="b")
rule(145, "The manager keeps each referee's address.", letter="c")
rule(147, "A referee's REFEREE_REGISTER_REQUEST to the manager is answered with REFEREE_REGISTER_RESPONSE.")
rule(150, "Players register once the referees have.", letter="a")
rule(150, "The manager approves each player and gives it its player_id.", decision=14, letter="b")
rule(152, "A player's registration request to the manager is answered with a registration response.")
rule(155, "The manager makes the schedule when all players have registered.", letter="a")
rule(155, "The schedule is a round-robin, in which everybody meets everybody.", decision=28, letter="b")
rule(158, "The manager publishes ROUND_ANNOUNCEMENT before each round.", decision=23, letter="a")
rule(158, "ROUND_ANNOUNCEMENT lists all matches of its round.", letter="b")
rule(158, "The manager shares the matches out among the registered referees.", decision=22, letter="c")
rule(161, "The referee invites the players to the match.", letter="a")
rule(161, "The referee runs the match by the game's rules.", letter="b")
rule(161, "The referee reports the result to the manager when the match is over.", decision=34, letter="c")
rule(164, "The manager brings the standings up to date after each round.", decision=25, letter="a")
rule(164, "The manager sends the standings to all players.", decision=25, letter="b")
rule(
    168,
    "A league registers referees, registers players, makes its schedule, plays match after match, "
    "then settles the standings and ends.",
    decision=25,
)

# 2.7 Time limits
limit(171, "An agent that has not answered within its message's time limit has failed.", decision=30)
limit(177, "A referee's registration has 10 seconds.")
limit(178, "A player's registration has 10 seconds.")
limit(179, "GAME_JOIN_ACK has 5 seconds.", decision=30)
limit(180, "A parity choice has 30 seconds.", decision=30)
limit(181, "The receipt of GAME_OVER has 5 seconds.", decision=34)
limit(182, "MATCH_RESULT_REPORT has 10 seconds.")
limit(183, "LEAGUE_QUERY has 10 seconds.")
limit(184, "Every other message has 10 seconds.", decision=24)

# 2.8 Agent lifecycle
state(187, "Players and referees alike are always in one of the defined states.")
state(190, "INIT: the agent runs but has not registered.")
state(191, "REGISTERED: the agent has registered and holds its auth_token.")
state(192, "ACTIVE: the agent takes part in games.")
state(193, "SUSPENDED: the agent does not answer and is set aside for a time.", decision=30)
state(194, "SHUTDOWN: the agent is done.")
state(198, "Registration takes an agent from INIT to REGISTERED.", letter="a")
state(198, "The league's start takes an agent from REGISTERED to ACTIVE.", letter="b")
state(198, "The league's end takes an agent from ACTIVE to SHUTDOWN.", letter="c")
state(198, "Too many failures take an agent from ACTIVE to SUSPENDED.", decision=30, letter="d")
state(198, "An agent that answers again goes from SUSPENDED back to ACTIVE.", decision=30, letter="e")

# 2.9 Errors
rule(201, "There are two error messages, LEAGUE_ERROR and GAME_ERROR.")
rule(204, "The manager sends LEAGUE_ERROR for an error of the league.")
MESSAGE = "LEAGUE_ERROR"
field(213, MESSAGE, "error_code", "A league error has its code.", ERROR_CODE, decision=9)
field(214, MESSAGE, "error_name", "A league error has the error's name.", text(1), decision=12)
field(215, MESSAGE, "error_description", "A league error describes itself to people.", text(), otherwise=12)
field(216, MESSAGE, "context", "A league error says what it is about.", obj(), decision=13)
field(
    217,
    MESSAGE,
    "context.player_id",
    "The context names the player where the error is about one.",
    text(),
    required=False,
    decision=13,
)
field(219, MESSAGE, "retryable", "A league error says whether trying again helps.", boolean(), decision=13)
rule(224, "The referee sends GAME_ERROR for an error in the game.")
MESSAGE = "GAME_ERROR"
field(233, MESSAGE, "match_id", "A game error names the match.", MATCH_ID)
field(234, MESSAGE, "player_id", "A game error names the player.", PLAYER_ID, decision=13)
field(235, MESSAGE, "error_code", "A game error has its code.", ERROR_CODE, decision=9)
field(236, MESSAGE, "error_name", "A game error has the error's name.", text(1), decision=12)
field(237, MESSAGE, "error_description", "A game error describes itself to people.", text(), otherwise=12)
field(238, MESSAGE, "game_state", "A game error says which state the match is in.", text(1), decision=13)
field(239, MESSAGE, "retryable", "A game error says whether there will be another try.", boolean(), decision=13)
field(240, MESSAGE, "retry_count", "A game error says which retry this is.", integer(0), decision=13)
field(241, MESSAGE, "max_retries", "A game error says how many retries there are.", integer(0), decision=13)
error(251, "E001 TIMEOUT_ERROR means that no answer came in time.", decision=9)
error(252, "E003 MISSING_REQUIRED_FIELD means that a mandatory field is absent.", decision=9)
error(253, "E004 INVALID_PARITY_CHOICE means that a choice is not allowed.", decision=9)
error(254, "E005 PLAYER_NOT_REGISTERED means that the player has not registered.", decision=9)
error(255, "E009 CONNECTION_ERROR means that the connection failed.", decision=9)
error(256, "E011 AUTH_TOKEN_MISSING means that a token is absent.", decision=9)
error(257, "E012 AUTH_TOKEN_INVALID means that a token is wrong.", decision=9)
limit(261, "There are at most 3 retries.", decision=30)
limit(262, "There are 2 seconds between retries.", decision=30)
limit(263, "Retries follow only E001 and E009.", otherwise=31)
limit(265, "When the retries are used up the player has a technical loss.", decision=30)

# 2.10 Versions
field(
    270,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.protocol_version",
    "A referee declares its protocol version when it registers.",
    SEMVER,
    decision=8,
    letter="a",
)
rule(270, "The manager checks the version before it approves a registration.", decision=8, letter="b")
MESSAGE = "LEAGUE_REGISTER_REQUEST"
field(276, MESSAGE, "player_meta", "The request describes the player.", obj())
field(277, MESSAGE, "player_meta.display_name", "The player has a name.", text(), decision=15)
field(278, MESSAGE, "player_meta.version", "The player states its own version.", SEMVER)
field(
    279,
    MESSAGE,
    "player_meta.protocol_version",
    "A player declares its protocol version when it registers.",
    SEMVER,
    decision=8,
)
field(280, MESSAGE, "player_meta.game_types", "The player lists its games.", array(of=text(1)), decision=16)
rule(286, "The current protocol version is 2.1.0.", decision=8)
rule(287, "The oldest protocol version still taken is 2.0.0.", decision=8)
error(288, "An agent with an older version is answered with E018 PROTOCOL_VERSION_MISMATCH.", decision=8)

# 2.11 Principles
rule(293, "What the referee says about a game is the truth.", decision=35, letter="a")
rule(293, "Players keep no game state of their own.", otherwise=35, letter="b")
rule(293, "Players go by what the referee sends them.", decision=35, letter="c")
rule(296, "Players never talk to each other directly.", letter="a")
rule(296, "Everything passes through the referee or the manager.", letter="b")
rule(300, "A player that does not answer is sent GAME_ERROR with retryable true.", decision=30)
limit(301, "A player that does not answer gets at most 3 attempts.", decision=30)
limit(302, "A player whose attempts are used up has a technical loss.", decision=30)
