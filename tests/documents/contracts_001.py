"""What document 001, the message contracts, asks for."""

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
    boolean,
    integer,
    nullable,
    obj,
    one_of,
    text,
)

DOCUMENT = Document("001")

field = DOCUMENT.field
rule = DOCUMENT.rule
error = DOCUMENT.error
effect = DOCUMENT.effect
state = DOCUMENT.state
limit = DOCUMENT.limit

rule(7, "The protocol is called league.v2.")
rule(8, "Messages are posted over HTTP to the path /mcp.")
rule(9, "Messages use the JSON-RPC 2.0 format.")

# 1.1 envelope
rule(30, "Every message travels inside a JSON-RPC 2.0 envelope.")
rule(35, "A request says jsonrpc 2.0.")
rule(36, "A request names its method as a string.", decision=1)
rule(37, "A request carries the message as an object in params.")
rule(38, "A request that expects an answer has an id, a string or a number.", decision=2)
rule(43, "A successful response says jsonrpc 2.0.")
rule(44, "A successful response carries the answer as an object in result.")
rule(45, "A successful response repeats the id of its request, a string or a number.", decision=2)
rule(50, "An error response says jsonrpc 2.0.")
rule(51, "A failure is answered with an error object.")
rule(52, "The error object has an integer code.", decision=10)
rule(53, "The error object has a message string.", decision=10)
rule(54, "The error object may have a data object.", decision=10)
rule(56, "An error response repeats the id of its request, a string or a number.", decision=2)

# 1.2 common payload fields
field(65, "*", "protocol", "Every message names the protocol league.v2.", one_of("league.v2"))
field(66, "*", "message_type", "Every message says which type it is.", text(1))
field(67, "*", "sender", "Every message names its sender.", SENDER, decision=4)
field(68, "*", "timestamp", "Every message is dated in UTC, in ISO 8601.", TIMESTAMP, decision=5)
field(69, "*", "conversation_id", "Every message carries the id of its conversation.", text(1), decision=4)

# 1.3 time limits
limit(78, "The referee allows 5 seconds for GAME_JOIN_ACK.")
limit(79, "The referee allows 30 seconds for CHOOSE_PARITY_RESPONSE.")
limit(80, "For any other answer the asking side allows 10 seconds.", decision=34)

# 1.4 authentication
field(
    87,
    "*",
    "auth_token",
    "Once registered, an agent shows its token in every request.",
    text(1),
    required=False,
    otherwise=19,
)

# 2.1 REFEREE_REGISTER_REQUEST
rule(96, "REFEREE_REGISTER_REQUEST goes from a referee to the manager.")
rule(97, "REFEREE_REGISTER_REQUEST is sent by the method register_referee.", decision=1)
rule(98, "A referee registers when it starts, before it is given any match.")
limit(99, "A referee waits 10 seconds for the answer to its registration.")
field(
    105,
    "REFEREE_REGISTER_REQUEST",
    "protocol",
    "REFEREE_REGISTER_REQUEST names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    106,
    "REFEREE_REGISTER_REQUEST",
    "message_type",
    "REFEREE_REGISTER_REQUEST says its own type.",
    one_of("REFEREE_REGISTER_REQUEST"),
)
field(
    107,
    "REFEREE_REGISTER_REQUEST",
    "sender",
    "REFEREE_REGISTER_REQUEST names the referee that sends it, by a name of its own.",
    SENDER,
    decision=3,
)
field(108, "REFEREE_REGISTER_REQUEST", "timestamp", "REFEREE_REGISTER_REQUEST says in UTC when it was made.", TIMESTAMP)
field(
    109,
    "REFEREE_REGISTER_REQUEST",
    "conversation_id",
    "REFEREE_REGISTER_REQUEST carries the id of its conversation.",
    text(1),
)
field(111, "REFEREE_REGISTER_REQUEST", "referee_meta", "A referee describes itself in one object.", obj())
field(
    112, "REFEREE_REGISTER_REQUEST", "referee_meta.display_name", "A referee gives a name for people to read.", text(1)
)
field(113, "REFEREE_REGISTER_REQUEST", "referee_meta.version", "A referee states its own version.", SEMVER)
field(
    114,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.game_types",
    "A referee declares the games it can judge.",
    array(of=text(1)),
    decision=16,
)
field(
    115,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.contact_endpoint",
    "A referee says at which HTTP address it is reached.",
    URL,
)
field(
    116,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.max_concurrent_matches",
    "A referee says how many matches it can judge at once.",
    integer(1),
    decision=17,
)
rule(149, "REFEREE_REGISTER_RESPONSE is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    150,
    "REFEREE_REGISTER_RESPONSE",
    "status",
    "The manager either accepts or rejects a referee.",
    one_of("ACCEPTED", "REJECTED"),
)
field(
    151,
    "REFEREE_REGISTER_RESPONSE",
    "referee_id",
    "An accepted referee is told its id; only then must it be there.",
    REFEREE_ID,
    required=False,
    otherwise=14,
)
field(
    152,
    "REFEREE_REGISTER_RESPONSE",
    "auth_token",
    "An accepted referee is given its token; only then must it be there.",
    text(1),
    required=False,
    decision=18,
)
field(
    153,
    "REFEREE_REGISTER_RESPONSE",
    "league_id",
    "An accepted referee is told its league; only then must it be there.",
    text(1),
    required=False,
)
field(
    154,
    "REFEREE_REGISTER_RESPONSE",
    "reason",
    "A rejected referee may be told why.",
    nullable(text()),
    required=False,
    decision=14,
)
field(
    157,
    "REFEREE_REGISTER_RESPONSE",
    "protocol",
    "REFEREE_REGISTER_RESPONSE names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    158,
    "REFEREE_REGISTER_RESPONSE",
    "message_type",
    "REFEREE_REGISTER_RESPONSE says its own type.",
    one_of("REFEREE_REGISTER_RESPONSE"),
)
field(
    159, "REFEREE_REGISTER_RESPONSE", "timestamp", "REFEREE_REGISTER_RESPONSE says in UTC when it was made.", TIMESTAMP
)
rule(190, "A rejected referee gets a result with status REJECTED instead of an id and a token.", decision=14)
rule(191, "A referee too many is told that all places for referees are taken.", decision=14)
error(201, "register_referee answers -32602 Invalid params to absent fields or wrong types.", decision=10)
error(202, "register_referee answers -32603 Internal error when the manager itself fails.", decision=10)
error(203, "register_referee answers 1001 League full when there are as many referees as allowed.", otherwise=14)
error(204, "register_referee answers 1002 Invalid endpoint when contact_endpoint cannot be reached.", otherwise=14)
error(205, "register_referee answers 1003 Unsupported game type when the league cannot use game_types.", otherwise=14)
error(216, "The data of error 1001 says in max_referees how many referees are allowed.", otherwise=14)
error(217, "The data of error 1001 says in current_referees how many referees there are.", otherwise=14)
effect(227, "The manager enters an accepted referee in config/agents/agents_config.json.")
effect(228, "The manager remembers the endpoint of an accepted referee.")
effect(229, "The manager creates and keeps a token for an accepted referee.", decision=18)
effect(230, "An accepted referee counts as free to be given matches.")
effect(233, "A refused registration of a referee changes nothing at the manager.")
effect(234, "A refused referee tries again or deals with the refusal.")

# 2.2 LEAGUE_REGISTER_REQUEST
rule(240, "LEAGUE_REGISTER_REQUEST goes from a player to the manager.")
rule(241, "LEAGUE_REGISTER_REQUEST is sent by the method register_player.", decision=1)
rule(242, "A player registers when it starts, before the league does.")
limit(243, "A player waits 10 seconds for the answer to its registration.")
field(
    249,
    "LEAGUE_REGISTER_REQUEST",
    "protocol",
    "LEAGUE_REGISTER_REQUEST names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    250,
    "LEAGUE_REGISTER_REQUEST",
    "message_type",
    "LEAGUE_REGISTER_REQUEST says its own type.",
    one_of("LEAGUE_REGISTER_REQUEST"),
)
field(
    251,
    "LEAGUE_REGISTER_REQUEST",
    "sender",
    "LEAGUE_REGISTER_REQUEST names the player that sends it, by a name of its own.",
    SENDER,
    decision=3,
)
field(252, "LEAGUE_REGISTER_REQUEST", "timestamp", "LEAGUE_REGISTER_REQUEST says in UTC when it was made.", TIMESTAMP)
field(
    253,
    "LEAGUE_REGISTER_REQUEST",
    "conversation_id",
    "LEAGUE_REGISTER_REQUEST carries the id of its conversation.",
    text(1),
)
field(255, "LEAGUE_REGISTER_REQUEST", "player_meta", "A player describes itself in one object.", obj())
field(256, "LEAGUE_REGISTER_REQUEST", "player_meta.display_name", "A player gives a name.", text(1))
rule(256, "No two players of a league have the same display name.", decision=15, letter="b")
field(257, "LEAGUE_REGISTER_REQUEST", "player_meta.version", "A player states its own version.", SEMVER)
field(
    258,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.game_types",
    "A player declares the games it can play.",
    array(of=text(1)),
    decision=16,
)
field(
    259,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.contact_endpoint",
    "A player says at which HTTP address it is reached.",
    URL,
)
rule(291, "LEAGUE_REGISTER_RESPONSE is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    292,
    "LEAGUE_REGISTER_RESPONSE",
    "status",
    "The manager either accepts or rejects a player.",
    one_of("ACCEPTED", "REJECTED"),
)
field(
    293,
    "LEAGUE_REGISTER_RESPONSE",
    "player_id",
    "An accepted player is told its id; only then must it be there.",
    PLAYER_ID,
    required=False,
    otherwise=14,
)
field(
    294,
    "LEAGUE_REGISTER_RESPONSE",
    "auth_token",
    "An accepted player is given its token; only then must it be there.",
    text(1),
    required=False,
    decision=18,
)
field(
    295,
    "LEAGUE_REGISTER_RESPONSE",
    "league_id",
    "An accepted player is told its league; only then must it be there.",
    text(1),
    required=False,
)
field(
    296,
    "LEAGUE_REGISTER_RESPONSE",
    "reason",
    "A rejected player may be told why.",
    nullable(text()),
    required=False,
    decision=14,
)
field(
    299,
    "LEAGUE_REGISTER_RESPONSE",
    "protocol",
    "LEAGUE_REGISTER_RESPONSE names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    300,
    "LEAGUE_REGISTER_RESPONSE",
    "message_type",
    "LEAGUE_REGISTER_RESPONSE says its own type.",
    one_of("LEAGUE_REGISTER_RESPONSE"),
)
field(301, "LEAGUE_REGISTER_RESPONSE", "timestamp", "LEAGUE_REGISTER_RESPONSE says in UTC when it was made.", TIMESTAMP)
error(327, "register_player answers -32602 Invalid params to absent fields or wrong types.", decision=10)
error(328, "register_player answers -32603 Internal error when the manager itself fails.", decision=10)
error(329, "register_player answers 2001 League full when there are as many players as allowed.", otherwise=14)
error(330, "register_player answers 2002 Duplicate name when another player has that display_name.", decision=14)
error(331, "register_player answers 2003 Invalid endpoint when contact_endpoint cannot be reached.", otherwise=14)
error(332, "register_player answers 2004 Unsupported game type when the league cannot use game_types.", otherwise=14)
error(343, "The data of error 2002 repeats the taken name in display_name.", decision=10)
error(344, "The data of error 2002 advises in suggestion to take another display_name.", decision=10)
effect(354, "The manager enters an accepted player in config/agents/agents_config.json.")
effect(355, "The manager remembers the endpoint of an accepted player.")
effect(356, "The manager creates and keeps a token for an accepted player.", decision=18)
effect(357, "An accepted player counts as free for matches.")
effect(358, "When the last expected player has registered, the manager may draw up the schedule.")
effect(361, "A refused registration of a player changes nothing at the manager.")
effect(362, "A refused player tries again or deals with the refusal.")

# 3.1 ROUND_ANNOUNCEMENT
rule(370, "ROUND_ANNOUNCEMENT goes from the manager to every player.", decision=22)
rule(371, "ROUND_ANNOUNCEMENT is sent by the method notify_round.", decision=1)
rule(372, "A round is announced once the schedule exists or the round before is over.", decision=23)
limit(373, "The manager waits 10 seconds for a player to acknowledge ROUND_ANNOUNCEMENT.", decision=23)
field(379, "ROUND_ANNOUNCEMENT", "protocol", "ROUND_ANNOUNCEMENT names the protocol league.v2.", one_of("league.v2"))
field(380, "ROUND_ANNOUNCEMENT", "message_type", "ROUND_ANNOUNCEMENT says its own type.", one_of("ROUND_ANNOUNCEMENT"))
field(
    381,
    "ROUND_ANNOUNCEMENT",
    "sender",
    "ROUND_ANNOUNCEMENT comes from league_manager.",
    one_of("league_manager"),
    decision=3,
)
field(382, "ROUND_ANNOUNCEMENT", "timestamp", "ROUND_ANNOUNCEMENT says in UTC when it was made.", TIMESTAMP)
field(383, "ROUND_ANNOUNCEMENT", "conversation_id", "ROUND_ANNOUNCEMENT carries the id of its conversation.", text(1))
field(385, "ROUND_ANNOUNCEMENT", "league_id", "An announcement names its league.", text(1))
field(386, "ROUND_ANNOUNCEMENT", "round_id", "An announcement numbers its round, from 1.", integer(1))
field(387, "ROUND_ANNOUNCEMENT", "matches", "An announcement lists the matches of its round.", array(of=obj()))
field(390, "ROUND_ANNOUNCEMENT", "matches[].match_id", "Each announced match has its id.", MATCH_ID)
field(391, "ROUND_ANNOUNCEMENT", "matches[].game_type", "Each announced match says which game is played.", text(1))
field(392, "ROUND_ANNOUNCEMENT", "matches[].player_A_id", "Each announced match names its first player.", PLAYER_ID)
field(393, "ROUND_ANNOUNCEMENT", "matches[].player_B_id", "Each announced match names its second player.", PLAYER_ID)
field(
    394,
    "ROUND_ANNOUNCEMENT",
    "matches[].referee_endpoint",
    "Each announced match gives the address of its referee.",
    URL,
)
rule(438, "ROUND_ANNOUNCEMENT_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    439,
    "ROUND_ANNOUNCEMENT_ACK",
    "status",
    "A player confirms that it got the announcement.",
    one_of("ACKNOWLEDGED"),
    decision=24,
)
field(
    440,
    "ROUND_ANNOUNCEMENT_ACK",
    "player_id",
    "A player confirms the announcement under its own id.",
    PLAYER_ID,
    decision=22,
)
field(441, "ROUND_ANNOUNCEMENT_ACK", "round_id", "A player says which announced round it confirms.", integer(1))
field(
    444,
    "ROUND_ANNOUNCEMENT_ACK",
    "protocol",
    "ROUND_ANNOUNCEMENT_ACK names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    445,
    "ROUND_ANNOUNCEMENT_ACK",
    "message_type",
    "ROUND_ANNOUNCEMENT_ACK says its own type.",
    one_of("ROUND_ANNOUNCEMENT_ACK"),
)
field(446, "ROUND_ANNOUNCEMENT_ACK", "timestamp", "ROUND_ANNOUNCEMENT_ACK says in UTC when it was made.", TIMESTAMP)
error(470, "notify_round answers -32602 Invalid params to absent fields.", decision=10)
error(471, "notify_round answers 3001 Invalid auth token to a wrong token.", decision=19)
error(472, "notify_round answers 3002 Player not registered when the player is not in the registry.", decision=10)
error(483, "The data of error 3001 names the player in player_id.", decision=10)
effect(493, "An announced player remembers the round.")
effect(494, "An announced player is ready for the invitation of its referee.", decision=35)
effect(495, "An announced player keeps track of which round is on.")
effect(498, "The manager keeps track of which players acknowledged the announcement.", decision=23)
effect(499, "Referees may invite once every player has acknowledged the announcement.", decision=23)

# 3.2 LEAGUE_STANDINGS_UPDATE
rule(505, "LEAGUE_STANDINGS_UPDATE goes from the manager to every player.")
rule(506, "LEAGUE_STANDINGS_UPDATE is sent by the method update_standings.", decision=1)
rule(507, "Standings are sent when the matches of a round are over and the table is computed.", decision=25)
limit(508, "The manager waits 10 seconds for a player to acknowledge LEAGUE_STANDINGS_UPDATE.", decision=24)
field(
    514,
    "LEAGUE_STANDINGS_UPDATE",
    "protocol",
    "LEAGUE_STANDINGS_UPDATE names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    515,
    "LEAGUE_STANDINGS_UPDATE",
    "message_type",
    "LEAGUE_STANDINGS_UPDATE says its own type.",
    one_of("LEAGUE_STANDINGS_UPDATE"),
)
field(
    516,
    "LEAGUE_STANDINGS_UPDATE",
    "sender",
    "LEAGUE_STANDINGS_UPDATE comes from league_manager.",
    one_of("league_manager"),
    decision=3,
)
field(517, "LEAGUE_STANDINGS_UPDATE", "timestamp", "LEAGUE_STANDINGS_UPDATE says in UTC when it was made.", TIMESTAMP)
field(
    518,
    "LEAGUE_STANDINGS_UPDATE",
    "conversation_id",
    "LEAGUE_STANDINGS_UPDATE carries the id of its conversation.",
    text(1),
)
field(520, "LEAGUE_STANDINGS_UPDATE", "league_id", "Standings name their league.", text(1))
field(521, "LEAGUE_STANDINGS_UPDATE", "round_id", "Standings say after which round they hold.", integer(1), decision=25)
field(522, "LEAGUE_STANDINGS_UPDATE", "standings", "Standings are a list of players.", array(of=obj()), decision=6)
rule(522, "The list of standings is in order of rank and begins with rank 1.", decision=27, letter="b")
field(
    525, "LEAGUE_STANDINGS_UPDATE", "standings[].rank", "Each row has a rank, counted from 1.", integer(1), decision=27
)
field(526, "LEAGUE_STANDINGS_UPDATE", "standings[].player_id", "Each row has the id of its player.", PLAYER_ID)
field(527, "LEAGUE_STANDINGS_UPDATE", "standings[].display_name", "Each row has the name of its player.", text(1))
field(528, "LEAGUE_STANDINGS_UPDATE", "standings[].played", "Each row counts the matches played.", integer(0))
field(529, "LEAGUE_STANDINGS_UPDATE", "standings[].wins", "Each row counts the matches won.", integer(0))
field(530, "LEAGUE_STANDINGS_UPDATE", "standings[].draws", "Each row counts the drawn matches.", integer(0))
field(531, "LEAGUE_STANDINGS_UPDATE", "standings[].losses", "Each row counts the matches lost.", integer(0))
field(532, "LEAGUE_STANDINGS_UPDATE", "standings[].points", "Each row adds up the points.", integer(0))
rule(602, "STANDINGS_UPDATE_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    603,
    "STANDINGS_UPDATE_ACK",
    "status",
    "A player confirms that it got the standings.",
    one_of("ACKNOWLEDGED"),
    decision=24,
)
field(604, "STANDINGS_UPDATE_ACK", "player_id", "A player confirms standings under its own id.", PLAYER_ID)
field(605, "STANDINGS_UPDATE_ACK", "round_id", "A player says of which round it confirms the standings.", integer(1))
field(
    608, "STANDINGS_UPDATE_ACK", "protocol", "STANDINGS_UPDATE_ACK names the protocol league.v2.", one_of("league.v2")
)
field(
    609,
    "STANDINGS_UPDATE_ACK",
    "message_type",
    "STANDINGS_UPDATE_ACK says its own type.",
    one_of("STANDINGS_UPDATE_ACK"),
)
field(610, "STANDINGS_UPDATE_ACK", "timestamp", "STANDINGS_UPDATE_ACK says in UTC when it was made.", TIMESTAMP)
error(634, "update_standings answers -32602 Invalid params to absent fields.", decision=10)
error(635, "update_standings answers 3001 Invalid auth token to a wrong token.", decision=19)
effect(640, "A player that gets standings keeps them as the newest it knows.")
effect(641, "A player's strategy may look at the standings in later matches.", decision=35)
effect(644, "The manager keeps track of which players acknowledged the standings.", decision=24)
effect(645, "After the standings the manager goes on to the next round or to the end of the league.", decision=25)

# 3.3 ROUND_COMPLETED
rule(651, "ROUND_COMPLETED goes from the manager to every player.", decision=22)
rule(652, "ROUND_COMPLETED is sent by the method notify_round_completed.", decision=1)
rule(653, "ROUND_COMPLETED follows the last match of the round and the standings sent for it.", decision=25)
limit(654, "The manager waits 10 seconds for a player to acknowledge ROUND_COMPLETED.", decision=24)
field(660, "ROUND_COMPLETED", "protocol", "ROUND_COMPLETED names the protocol league.v2.", one_of("league.v2"))
field(661, "ROUND_COMPLETED", "message_type", "ROUND_COMPLETED says its own type.", one_of("ROUND_COMPLETED"))
field(
    662, "ROUND_COMPLETED", "sender", "ROUND_COMPLETED comes from league_manager.", one_of("league_manager"), decision=3
)
field(663, "ROUND_COMPLETED", "timestamp", "ROUND_COMPLETED says in UTC when it was made.", TIMESTAMP)
field(664, "ROUND_COMPLETED", "conversation_id", "ROUND_COMPLETED carries the id of its conversation.", text(1))
field(666, "ROUND_COMPLETED", "league_id", "The end of a round names its league.", text(1))
field(667, "ROUND_COMPLETED", "round_id", "The end of a round says which round is over.", integer(1))
field(
    668,
    "ROUND_COMPLETED",
    "matches_played",
    "The end of a round counts the matches of the round.",
    integer(0),
    decision=26,
)
field(
    669,
    "ROUND_COMPLETED",
    "next_round_id",
    "The end of a round names the next one, or null after the last.",
    nullable(integer(1)),
)
rule(699, "ROUND_COMPLETED_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    700,
    "ROUND_COMPLETED_ACK",
    "status",
    "A player confirms that it knows of the round's end.",
    one_of("ACKNOWLEDGED"),
    decision=24,
)
field(
    701,
    "ROUND_COMPLETED_ACK",
    "player_id",
    "A player confirms the round's end under its own id.",
    PLAYER_ID,
    decision=22,
)
field(702, "ROUND_COMPLETED_ACK", "round_id", "A player says of which round it confirms the end.", integer(1))
field(705, "ROUND_COMPLETED_ACK", "protocol", "ROUND_COMPLETED_ACK names the protocol league.v2.", one_of("league.v2"))
field(
    706, "ROUND_COMPLETED_ACK", "message_type", "ROUND_COMPLETED_ACK says its own type.", one_of("ROUND_COMPLETED_ACK")
)
field(707, "ROUND_COMPLETED_ACK", "timestamp", "ROUND_COMPLETED_ACK says in UTC when it was made.", TIMESTAMP)
error(731, "notify_round_completed answers -32602 Invalid params to absent fields.", decision=10)
error(732, "notify_round_completed answers 3001 Invalid auth token to a wrong token.", decision=19)
effect(737, "A player notes that the round is over.")
effect(738, "After a round a player is ready for the next announcement.")
effect(741, "The manager keeps track of which players acknowledged the end of the round.", decision=24)
effect(742, "After a round the manager may announce the next or end the league.", decision=25)

# 3.4 LEAGUE_COMPLETED
rule(748, "LEAGUE_COMPLETED goes from the manager to every player.")
rule(749, "LEAGUE_COMPLETED is sent by the method notify_league_completed.", decision=1)
rule(750, "LEAGUE_COMPLETED is sent when all rounds are over.", decision=25)
limit(751, "The manager waits 10 seconds for a player to acknowledge LEAGUE_COMPLETED.", decision=24)
field(757, "LEAGUE_COMPLETED", "protocol", "LEAGUE_COMPLETED names the protocol league.v2.", one_of("league.v2"))
field(758, "LEAGUE_COMPLETED", "message_type", "LEAGUE_COMPLETED says its own type.", one_of("LEAGUE_COMPLETED"))
field(
    759,
    "LEAGUE_COMPLETED",
    "sender",
    "LEAGUE_COMPLETED comes from league_manager.",
    one_of("league_manager"),
    decision=3,
)
field(760, "LEAGUE_COMPLETED", "timestamp", "LEAGUE_COMPLETED says in UTC when it was made.", TIMESTAMP)
field(761, "LEAGUE_COMPLETED", "conversation_id", "LEAGUE_COMPLETED carries the id of its conversation.", text(1))
field(763, "LEAGUE_COMPLETED", "league_id", "The end of the league names its league.", text(1))
field(764, "LEAGUE_COMPLETED", "total_rounds", "The end of the league counts its rounds.", integer(0))
field(765, "LEAGUE_COMPLETED", "total_matches", "The end of the league counts its matches.", integer(0))
field(766, "LEAGUE_COMPLETED", "champion", "The end of the league describes the champion.", obj())
field(
    767,
    "LEAGUE_COMPLETED",
    "final_standings",
    "The end of the league lists the final ranking.",
    array(of=obj()),
    decision=6,
)
field(770, "LEAGUE_COMPLETED", "champion.player_id", "The champion has an id.", PLAYER_ID)
field(771, "LEAGUE_COMPLETED", "champion.display_name", "The champion has a name.", text(1))
field(772, "LEAGUE_COMPLETED", "champion.points", "The champion has the points of the whole league.", integer(0))
field(775, "LEAGUE_COMPLETED", "final_standings[].rank", "Each final row has a rank.", integer(1), decision=27)
field(776, "LEAGUE_COMPLETED", "final_standings[].player_id", "Each final row has the id of its player.", PLAYER_ID)
field(777, "LEAGUE_COMPLETED", "final_standings[].display_name", "Each final row has the name of its player.", text(1))
field(778, "LEAGUE_COMPLETED", "final_standings[].points", "Each final row adds up the points.", integer(0))
field(779, "LEAGUE_COMPLETED", "final_standings[].wins", "Each final row counts the matches won.", integer(0))
field(780, "LEAGUE_COMPLETED", "final_standings[].draws", "Each final row counts the drawn matches.", integer(0))
field(781, "LEAGUE_COMPLETED", "final_standings[].losses", "Each final row counts the matches lost.", integer(0))
rule(853, "LEAGUE_COMPLETED_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    854,
    "LEAGUE_COMPLETED_ACK",
    "status",
    "A player confirms that it knows of the league's end.",
    one_of("ACKNOWLEDGED"),
    decision=24,
)
field(855, "LEAGUE_COMPLETED_ACK", "player_id", "A player confirms the league's end under its own id.", PLAYER_ID)
field(
    858, "LEAGUE_COMPLETED_ACK", "protocol", "LEAGUE_COMPLETED_ACK names the protocol league.v2.", one_of("league.v2")
)
field(
    859,
    "LEAGUE_COMPLETED_ACK",
    "message_type",
    "LEAGUE_COMPLETED_ACK says its own type.",
    one_of("LEAGUE_COMPLETED_ACK"),
)
field(860, "LEAGUE_COMPLETED_ACK", "timestamp", "LEAGUE_COMPLETED_ACK says in UTC when it was made.", TIMESTAMP)
error(883, "notify_league_completed answers -32602 Invalid params to absent fields.", decision=10)
error(884, "notify_league_completed answers 3001 Invalid auth token to a wrong token.", decision=19)
effect(889, "A player notes that the league is over.")
effect(890, "A player may end in good order after the league.")
effect(891, "A player saves its final statistics.")
effect(894, "With LEAGUE_COMPLETED the manager's league has run its course.")
effect(895, "The manager may save the final results and end.")

# 4.1 GAME_INVITATION
rule(903, "GAME_INVITATION goes from the referee to each of the two players.")
rule(904, "GAME_INVITATION is sent by the method handle_game_invitation.", decision=1)
rule(905, "A referee invites when it begins a match that it was assigned.", decision=22)
limit(906, "An invited player answers with GAME_JOIN_ACK within 5 seconds.")
field(912, "GAME_INVITATION", "protocol", "GAME_INVITATION names the protocol league.v2.", one_of("league.v2"))
field(913, "GAME_INVITATION", "message_type", "GAME_INVITATION says its own type.", one_of("GAME_INVITATION"))
field(914, "GAME_INVITATION", "sender", "GAME_INVITATION names the referee that sends it.", SENDER)
field(915, "GAME_INVITATION", "timestamp", "GAME_INVITATION says in UTC when it was made.", TIMESTAMP)
field(916, "GAME_INVITATION", "conversation_id", "GAME_INVITATION carries the id of its conversation.", text(1))
field(917, "GAME_INVITATION", "auth_token", "GAME_INVITATION shows a token of its referee.", text(1), decision=19)
field(919, "GAME_INVITATION", "league_id", "An invitation names its league.", text(1))
field(920, "GAME_INVITATION", "round_id", "An invitation names its round.", integer(1))
field(921, "GAME_INVITATION", "match_id", "An invitation names its match.", MATCH_ID)
field(922, "GAME_INVITATION", "game_type", "An invitation says which game is played.", text(1))
field(
    923,
    "GAME_INVITATION",
    "role_in_match",
    "An invitation says which side the player is.",
    one_of("PLAYER_A", "PLAYER_B"),
)
field(924, "GAME_INVITATION", "opponent_id", "An invitation names the opponent.", PLAYER_ID)
rule(957, "GAME_JOIN_ACK is the result of the call and may lack conversation_id.", decision=4)
field(958, "GAME_JOIN_ACK", "protocol", "GAME_JOIN_ACK names the protocol league.v2.", one_of("league.v2"))
field(959, "GAME_JOIN_ACK", "message_type", "GAME_JOIN_ACK says its own type.", one_of("GAME_JOIN_ACK"))
field(960, "GAME_JOIN_ACK", "sender", "GAME_JOIN_ACK names the player that sends it.", SENDER)
field(961, "GAME_JOIN_ACK", "timestamp", "GAME_JOIN_ACK says in UTC when it was made.", TIMESTAMP)
field(962, "GAME_JOIN_ACK", "auth_token", "GAME_JOIN_ACK shows a token of its player.", text(1), decision=19)
field(964, "GAME_JOIN_ACK", "match_id", "A player says which match it joins.", MATCH_ID)
field(965, "GAME_JOIN_ACK", "player_id", "A player joins under its own id.", PLAYER_ID)
field(966, "GAME_JOIN_ACK", "arrival_timestamp", "A player says in UTC when it confirmed.", TIMESTAMP)
field(967, "GAME_JOIN_ACK", "accept", "A player says whether it accepts or declines.", boolean())
error(997, "handle_game_invitation answers -32602 Invalid params to absent fields.", decision=10)
error(998, "handle_game_invitation answers 4001 Invalid auth token when the referee's token is wrong.", decision=19)
error(999, "handle_game_invitation answers 4002 Player not found when the player id is not registered.", decision=10)
error(1000, "handle_game_invitation answers 4003 Match not found when the match id is unknown.", otherwise=35)
error(1001, "An invitation that is not answered within 5 seconds is the error -1 Timeout.", decision=32)
error(1010, "The message of a missed invitation says that GAME_JOIN_ACK was waited for in vain.", decision=10)
error(1012, "The data of a missed invitation names the silent player in player_id.", decision=32)
error(1013, "The data of a missed invitation gives the limit of 5 in timeout_seconds.", decision=32)
error(1014, "The data of a missed invitation counts the attempts in retry_count.", decision=32)
error(1015, "The data of a missed invitation gives the allowed attempts in max_retries, 3.", decision=32)
effect(1025, "By joining, a player confirms that it takes part.")
effect(1026, "A player that joined is ready to be asked for its choice.")
effect(1027, "A player remembers the match with its id, its role and its opponent.", decision=35)
effect(1030, "The referee notes the arrival of a player that joined.")
effect(1031, "When both players have joined, the referee's match goes on to COLLECTING_CHOICES.")
effect(1032, "A player silent for 5 seconds is invited again or loses technically.", decision=30)
effect(1035, "A referee repeats an unanswered invitation up to max_retries, usually 3 times.", decision=30)
effect(1036, "A player silent through all invitations loses technically.", decision=30)
effect(1037, "The referee sends GAME_ERROR to a player that missed its invitation.", decision=30)
effect(1038, "The referee reports a match lost by not joining to the manager as a technical loss.", decision=33)

# 4.2 CHOOSE_PARITY_CALL
rule(1044, "CHOOSE_PARITY_CALL goes from the referee to each of the two players.")
rule(1045, "CHOOSE_PARITY_CALL is sent by the method parity_choose.", decision=1)
rule(1046, "Players are asked for their choices when both have joined.")
limit(1047, "A player answers with CHOOSE_PARITY_RESPONSE within 30 seconds.")
field(1053, "CHOOSE_PARITY_CALL", "protocol", "CHOOSE_PARITY_CALL names the protocol league.v2.", one_of("league.v2"))
field(1054, "CHOOSE_PARITY_CALL", "message_type", "CHOOSE_PARITY_CALL says its own type.", one_of("CHOOSE_PARITY_CALL"))
field(1055, "CHOOSE_PARITY_CALL", "sender", "CHOOSE_PARITY_CALL names the referee that sends it.", SENDER)
field(1056, "CHOOSE_PARITY_CALL", "timestamp", "CHOOSE_PARITY_CALL says in UTC when it was made.", TIMESTAMP)
field(1057, "CHOOSE_PARITY_CALL", "conversation_id", "CHOOSE_PARITY_CALL carries the id of its conversation.", text(1))
rule(1057, "A call has the conversation_id of the invitation before it.", letter="b")
field(
    1058, "CHOOSE_PARITY_CALL", "auth_token", "CHOOSE_PARITY_CALL shows a token of its referee.", text(1), decision=19
)
field(1060, "CHOOSE_PARITY_CALL", "match_id", "A call names its match.", MATCH_ID)
field(1061, "CHOOSE_PARITY_CALL", "player_id", "A call names the player that is asked.", PLAYER_ID)
field(1062, "CHOOSE_PARITY_CALL", "game_type", "A call says which game is played.", text(1))
field(1063, "CHOOSE_PARITY_CALL", "context", "A call gives the player something to decide by.", obj())
field(1064, "CHOOSE_PARITY_CALL", "deadline", "A call says in UTC until when the choice is taken.", TIMESTAMP)
rule(1064, "The deadline of a call is 30 seconds after the call.", decision=31, letter="b")
field(1067, "CHOOSE_PARITY_CALL", "context.opponent_id", "A call's context names the opponent.", PLAYER_ID)
field(1068, "CHOOSE_PARITY_CALL", "context.round_id", "A call's context names the round.", integer(1))
field(1069, "CHOOSE_PARITY_CALL", "context.your_standings", "A call's context shows the player its own record.", obj())
field(1072, "CHOOSE_PARITY_CALL", "context.your_standings.wins", "The record in a call counts wins.", integer(0))
field(1073, "CHOOSE_PARITY_CALL", "context.your_standings.losses", "The record in a call counts losses.", integer(0))
field(1074, "CHOOSE_PARITY_CALL", "context.your_standings.draws", "The record in a call counts draws.", integer(0))
field(1075, "CHOOSE_PARITY_CALL", "context.your_standings.points", "The record in a call adds up points.", integer(0))
rule(1116, "CHOOSE_PARITY_RESPONSE is the result of the call and may lack conversation_id.", decision=4)
field(
    1117,
    "CHOOSE_PARITY_RESPONSE",
    "protocol",
    "CHOOSE_PARITY_RESPONSE names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    1118,
    "CHOOSE_PARITY_RESPONSE",
    "message_type",
    "CHOOSE_PARITY_RESPONSE says its own type.",
    one_of("CHOOSE_PARITY_RESPONSE"),
)
field(1119, "CHOOSE_PARITY_RESPONSE", "sender", "CHOOSE_PARITY_RESPONSE names the player that sends it.", SENDER)
field(1120, "CHOOSE_PARITY_RESPONSE", "timestamp", "CHOOSE_PARITY_RESPONSE says in UTC when it was made.", TIMESTAMP)
field(
    1121,
    "CHOOSE_PARITY_RESPONSE",
    "auth_token",
    "CHOOSE_PARITY_RESPONSE shows a token of its player.",
    text(1),
    decision=19,
)
field(1123, "CHOOSE_PARITY_RESPONSE", "match_id", "A player says for which match it chooses.", MATCH_ID)
field(1124, "CHOOSE_PARITY_RESPONSE", "player_id", "A player chooses under its own id.", PLAYER_ID)
field(
    1125, "CHOOSE_PARITY_RESPONSE", "parity_choice", "A player chooses even or odd.", one_of("even", "odd"), decision=11
)
error(1154, "parity_choose answers -32602 Invalid params to absent fields or a wrong parity_choice.", otherwise=11)
error(1155, "parity_choose answers 4001 Invalid auth token when the player's token is wrong.", decision=19)
error(1156, "parity_choose answers 4004 Invalid choice to a parity_choice other than even and odd.", decision=32)
error(1157, "parity_choose answers 4005 Match state error outside COLLECTING_CHOICES.", decision=32)
error(1158, "A call that is not answered within 30 seconds is the error -1 Timeout.", decision=32)
error(1167, "The message of a missed call says that CHOOSE_PARITY_RESPONSE was waited for in vain.", decision=10)
error(1169, "The data of a missed call names the silent player in player_id.", decision=32)
error(1170, "The data of a missed call gives the limit of 30 in timeout_seconds.", decision=32)
error(1171, "The data of a missed call counts the attempts in retry_count.", decision=32)
error(1172, "The data of a missed call gives the allowed attempts in max_retries, 3.", decision=32)
effect(1182, "An asked player gives its choice to the referee.")
effect(1183, "A player that has chosen waits for GAME_OVER.")
effect(1186, "The referee keeps each player's choice.")
effect(1187, "When both players have chosen, the referee's match goes on to DRAWING_NUMBER.")
effect(1188, "The referee draws a random number from 1 to 10.")
effect(1189, "The referee works out who won.")
effect(1190, "With the winner known, the referee's match goes on to FINISHED.")
effect(1193, "A referee repeats an unanswered call up to max_retries, usually 3 times.", decision=30)
effect(1194, "A player silent through all calls loses technically.", decision=30)
effect(1195, "The referee sends GAME_ERROR to a player that missed its call.", decision=30)
effect(1196, "After a missed choice the referee still brings the match to its end.", decision=33)

# 4.3 GAME_OVER
rule(1202, "GAME_OVER goes from the referee to both players.")
rule(1203, "GAME_OVER is sent by the method notify_match_result.", decision=1)
rule(1204, "GAME_OVER is sent when the winner is known and the match is over.", decision=34)
limit(1205, "The referee waits 10 seconds for a player to acknowledge GAME_OVER.", otherwise=34)
field(1211, "GAME_OVER", "protocol", "GAME_OVER names the protocol league.v2.", one_of("league.v2"))
field(1212, "GAME_OVER", "message_type", "GAME_OVER says its own type.", one_of("GAME_OVER"))
field(1213, "GAME_OVER", "sender", "GAME_OVER names the referee that sends it.", SENDER)
field(1214, "GAME_OVER", "timestamp", "GAME_OVER says in UTC when it was made.", TIMESTAMP)
field(1215, "GAME_OVER", "conversation_id", "GAME_OVER carries the id of its conversation.", text(1))
rule(1215, "GAME_OVER has the conversation_id of the invitation before it.", letter="b")
field(1216, "GAME_OVER", "auth_token", "GAME_OVER shows a token of its referee.", text(1), decision=19)
field(1218, "GAME_OVER", "match_id", "The end of a match names its match.", MATCH_ID)
field(1219, "GAME_OVER", "game_type", "The end of a match says which game was played.", text(1))
field(1220, "GAME_OVER", "game_result", "The end of a match holds the whole result.", obj())
field(
    1223,
    "GAME_OVER",
    "game_result.status",
    "A match ends with a win, a draw or a technical loss.",
    one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
)
field(
    1224,
    "GAME_OVER",
    "game_result.winner_player_id",
    "A result names the winner or null; it must be there only for WIN.",
    nullable(PLAYER_ID),
    required=False,
    decision=33,
)
field(
    1225,
    "GAME_OVER",
    "game_result.drawn_number",
    "A result gives the drawn number, from 1 to 10.",
    integer(1, 10),
    otherwise=33,
)
field(
    1226,
    "GAME_OVER",
    "game_result.number_parity",
    "A result says whether the number is even or odd.",
    one_of("even", "odd"),
    otherwise=33,
)
field(1227, "GAME_OVER", "game_result.choices", "A result holds the choices of both players.", obj(), decision=33)
field(1228, "GAME_OVER", "game_result.reason", "A result explains itself in words.", text(1), decision=34)
field(
    1231,
    "GAME_OVER",
    "game_result.choices{}",
    "A result gives each player's choice under its id.",
    one_of("even", "odd"),
    otherwise=33,
)
rule(1271, "GAME_OVER_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(1272, "GAME_OVER_ACK", "status", "A player confirms that it got the result.", one_of("ACKNOWLEDGED"), decision=34)
field(1273, "GAME_OVER_ACK", "player_id", "A player confirms the result under its own id.", PLAYER_ID)
field(1274, "GAME_OVER_ACK", "match_id", "A player says of which match it confirms the result.", MATCH_ID)
field(1277, "GAME_OVER_ACK", "protocol", "GAME_OVER_ACK names the protocol league.v2.", one_of("league.v2"))
field(1278, "GAME_OVER_ACK", "message_type", "GAME_OVER_ACK says its own type.", one_of("GAME_OVER_ACK"))
field(1279, "GAME_OVER_ACK", "timestamp", "GAME_OVER_ACK says in UTC when it was made.", TIMESTAMP)
error(1303, "notify_match_result answers -32602 Invalid params to absent fields.", decision=10)
error(1304, "notify_match_result answers 4001 Invalid auth token when the referee's token is wrong.", decision=19)
effect(1309, "A player adds the match to its history.", decision=35)
effect(1310, "A player brings its count of wins, losses and draws up to date.", decision=35)
effect(1311, "A player may keep the result for its strategy to learn from.", decision=35)
effect(1312, "A player writes its history to SHARED/data/players/<player_id>/history.json.")
effect(1315, "The referee waits for both players to acknowledge the result.", otherwise=34)
effect(1316, "After GAME_OVER the referee goes on to report to the manager.", decision=34)

# 5.1 MATCH_RESULT_REPORT
rule(1324, "MATCH_RESULT_REPORT goes from a referee to the manager.")
rule(1325, "MATCH_RESULT_REPORT is sent by the method report_match_result.", decision=1)
rule(1326, "A referee reports when the match is over and GAME_OVER has gone to both players.", decision=34)
limit(1327, "A referee waits 10 seconds for the answer to its report.")
field(1333, "MATCH_RESULT_REPORT", "protocol", "MATCH_RESULT_REPORT names the protocol league.v2.", one_of("league.v2"))
field(
    1334, "MATCH_RESULT_REPORT", "message_type", "MATCH_RESULT_REPORT says its own type.", one_of("MATCH_RESULT_REPORT")
)
field(1335, "MATCH_RESULT_REPORT", "sender", "MATCH_RESULT_REPORT names the referee that sends it.", SENDER)
field(1336, "MATCH_RESULT_REPORT", "timestamp", "MATCH_RESULT_REPORT says in UTC when it was made.", TIMESTAMP)
field(
    1337, "MATCH_RESULT_REPORT", "conversation_id", "MATCH_RESULT_REPORT carries the id of its conversation.", text(1)
)
field(1338, "MATCH_RESULT_REPORT", "auth_token", "MATCH_RESULT_REPORT shows the token of its referee.", text(1))
field(1340, "MATCH_RESULT_REPORT", "league_id", "A report names its league.", text(1))
field(1341, "MATCH_RESULT_REPORT", "round_id", "A report names its round.", integer(1))
field(1342, "MATCH_RESULT_REPORT", "match_id", "A report names its match.", MATCH_ID)
field(1343, "MATCH_RESULT_REPORT", "game_type", "A report says which game was played.", text(1))
field(1344, "MATCH_RESULT_REPORT", "result", "A report holds the result as an object.", obj())
field(
    1347,
    "MATCH_RESULT_REPORT",
    "result.winner",
    "A report names the winner, or null after a draw.",
    nullable(PLAYER_ID),
    decision=33,
)
field(1348, "MATCH_RESULT_REPORT", "result.score", "A report says how many points each player gets.", obj())
field(1349, "MATCH_RESULT_REPORT", "result.details", "A report holds details of the match.", obj())
field(
    1352, "MATCH_RESULT_REPORT", "result.score{}", "A report gives each player's points under its id.", one_of(0, 1, 3)
)
field(
    1355,
    "MATCH_RESULT_REPORT",
    "result.details.drawn_number",
    "A report's details give the drawn number.",
    integer(1, 10),
    otherwise=33,
)
field(1356, "MATCH_RESULT_REPORT", "result.details.choices", "A report's details hold the choices.", obj(), decision=33)
field(
    1357,
    "MATCH_RESULT_REPORT",
    "result.details.status",
    "A report's details say how the match ended.",
    one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
)
field(
    1360,
    "MATCH_RESULT_REPORT",
    "result.details.choices{}",
    "A report's details give each player's choice under its id.",
    one_of("even", "odd"),
    otherwise=33,
)
rule(1406, "MATCH_RESULT_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(1407, "MATCH_RESULT_ACK", "status", "The manager says that it accepts the report.", one_of("ACCEPTED"))
field(1408, "MATCH_RESULT_ACK", "match_id", "The manager says which match's report it accepts.", MATCH_ID)
field(1409, "MATCH_RESULT_ACK", "round_id", "The manager says to which round the report belongs.", integer(1))
field(1412, "MATCH_RESULT_ACK", "protocol", "MATCH_RESULT_ACK names the protocol league.v2.", one_of("league.v2"))
field(1413, "MATCH_RESULT_ACK", "message_type", "MATCH_RESULT_ACK says its own type.", one_of("MATCH_RESULT_ACK"))
field(1414, "MATCH_RESULT_ACK", "timestamp", "MATCH_RESULT_ACK says in UTC when it was made.", TIMESTAMP)
error(1438, "report_match_result answers -32602 Invalid params to absent fields.", decision=10)
error(1439, "report_match_result answers 5001 Invalid auth token when the referee's token is wrong.", decision=10)
error(1440, "report_match_result answers 5002 Match not found to an unknown match or another referee's.", decision=10)
error(1441, "report_match_result answers 5003 Duplicate report when the match was already reported.", decision=9)
error(1452, "The data of error 5003 names the match in match_id.", decision=10)
error(1453, "The data of error 5003 says in previous_report_time when the first report came.", decision=10)
effect(1463, "A report changes the manager's standings.")
effect(1464, "A report adds to the players' counts of wins, losses and draws.", decision=33)
effect(1465, "A win brings 3 points, a draw 1 and a loss none.", decision=33)
effect(1466, "The manager writes the new standings to SHARED/data/leagues/<league_id>/standings.json.")
effect(1467, "After each report the manager looks whether the round is over.")
effect(1468, "After the last report of a round the manager sends the standings, then ROUND_COMPLETED.", decision=25)
effect(1471, "The referee notes that it reported the match.")
effect(1472, "The referee writes the match to SHARED/data/matches/<league_id>/<match_id>.json.")
effect(1473, "After its report a referee is free for the next match.")

# 6.1 LEAGUE_ERROR
rule(1481, "LEAGUE_ERROR goes from the manager to a player or a referee.")
rule(1482, "LEAGUE_ERROR has no method of its own, being an error response or a notification.", decision=10)
rule(
    1483, "LEAGUE_ERROR is sent for errors of the league, such as a wrong token or a failed registration.", decision=10
)
limit(1484, "Nobody waits for an answer to LEAGUE_ERROR.")
field(1490, "LEAGUE_ERROR", "protocol", "LEAGUE_ERROR names the protocol league.v2.", one_of("league.v2"))
field(1491, "LEAGUE_ERROR", "message_type", "LEAGUE_ERROR says its own type.", one_of("LEAGUE_ERROR"))
field(1492, "LEAGUE_ERROR", "sender", "LEAGUE_ERROR comes from league_manager.", one_of("league_manager"), decision=3)
field(1493, "LEAGUE_ERROR", "timestamp", "LEAGUE_ERROR says in UTC when it was made.", TIMESTAMP)
field(1494, "LEAGUE_ERROR", "conversation_id", "LEAGUE_ERROR carries the id of its conversation.", text(1))
field(1496, "LEAGUE_ERROR", "error_code", "A league error has an E-code.", ERROR_CODE, decision=9)
field(1497, "LEAGUE_ERROR", "error_description", "A league error names its kind.", text(1), decision=12)
field(1498, "LEAGUE_ERROR", "context", "A league error gives its circumstances in an object.", obj(), decision=13)
field(
    1502,
    "LEAGUE_ERROR",
    "context.provided_token",
    "A league error about a token may show the refused one.",
    text(),
    required=False,
    decision=13,
)
field(
    1503,
    "LEAGUE_ERROR",
    "context.action",
    "A league error about a token says what failed; only then must it be there.",
    text(1),
    required=False,
    decision=13,
)
field(
    1504,
    "LEAGUE_ERROR",
    "context.player_id",
    "A league error about a token may name the player concerned.",
    PLAYER_ID,
    required=False,
    decision=13,
)
error(1516, "E012 as a JSON-RPC error has the code 12.", otherwise=10)
error(1517, "A LEAGUE_ERROR in a JSON-RPC error puts the error's name in message.", otherwise=10)
error(1518, "A LEAGUE_ERROR in a JSON-RPC error is whole in data, with its envelope fields.", decision=10)
error(1541, "E001 INVALID_PROTOCOL_VERSION answers another version of the protocol.", otherwise=9)
error(1542, "E002 MISSING_REQUIRED_FIELD answers the lack of a required field.", otherwise=9)
error(1543, "E003 INVALID_FIELD_TYPE answers a field of the wrong type.", otherwise=9)
error(1544, "E012 AUTH_TOKEN_INVALID answers a token that is wrong or no longer valid.")
error(1545, "E013 AUTH_TOKEN_MISSING answers the lack of a token.", otherwise=9)
error(1546, "E020 LEAGUE_FULL answers one who finds all places taken.", decision=9)
error(1547, "E021 DUPLICATE_NAME answers a display name that another has.", otherwise=9)
error(1548, "E030 LEAGUE_NOT_STARTED answers what is not allowed before the start.", decision=9)
error(1549, "E031 LEAGUE_ALREADY_COMPLETE answers what is not allowed after the end.", decision=9)
effect(1554, "An agent that gets a league error logs it.")
effect(1555, "An agent may try again after a league error that allows it.")
effect(1556, "An agent may tell its user of a league error or correct its cause.")

# 6.2 GAME_ERROR
rule(1562, "GAME_ERROR goes from the referee to a player.")
rule(1563, "GAME_ERROR is sent by the method notify_game_error.", decision=1)
rule(1564, "GAME_ERROR is sent for errors of a match, such as a time-out, a wrong move or a lost player.", decision=30)
limit(1565, "The referee waits 10 seconds for a player to acknowledge GAME_ERROR.")
field(1571, "GAME_ERROR", "protocol", "GAME_ERROR names the protocol league.v2.", one_of("league.v2"))
field(1572, "GAME_ERROR", "message_type", "GAME_ERROR says its own type.", one_of("GAME_ERROR"))
field(1573, "GAME_ERROR", "sender", "GAME_ERROR names the referee that sends it.", SENDER)
field(1574, "GAME_ERROR", "timestamp", "GAME_ERROR says in UTC when it was made.", TIMESTAMP)
field(1575, "GAME_ERROR", "conversation_id", "GAME_ERROR carries the id of its conversation.", text(1))
field(1576, "GAME_ERROR", "auth_token", "GAME_ERROR shows a token of its referee.", text(1), decision=19)
field(1578, "GAME_ERROR", "match_id", "A game error names its match.", MATCH_ID, decision=13)
field(1579, "GAME_ERROR", "error_code", "A game error has an E-code.", ERROR_CODE, decision=9)
field(1580, "GAME_ERROR", "error_description", "A game error names its kind.", text(1), decision=12)
field(1581, "GAME_ERROR", "affected_player", "A game error names the player that caused it.", PLAYER_ID, decision=13)
field(
    1582, "GAME_ERROR", "action_required", "A game error says which action was missed or failed.", text(1), decision=13
)
field(1583, "GAME_ERROR", "retry_count", "A game error says which attempt this was.", integer(0), decision=13)
field(1584, "GAME_ERROR", "max_retries", "A game error says how many attempts are allowed.", integer(0), decision=13)
field(1585, "GAME_ERROR", "consequence", "A game error says in words what follows.", text(1), decision=13)
rule(1620, "GAME_ERROR_ACK is the result of the call and may lack sender and conversation_id.", decision=4)
field(1621, "GAME_ERROR_ACK", "status", "A player confirms that it got the game error.", one_of("ACKNOWLEDGED"))
field(1622, "GAME_ERROR_ACK", "player_id", "A player confirms a game error under its own id.", PLAYER_ID)
field(1623, "GAME_ERROR_ACK", "match_id", "A player says of which match it confirms the game error.", MATCH_ID)
field(1626, "GAME_ERROR_ACK", "protocol", "GAME_ERROR_ACK names the protocol league.v2.", one_of("league.v2"))
field(1627, "GAME_ERROR_ACK", "message_type", "GAME_ERROR_ACK says its own type.", one_of("GAME_ERROR_ACK"))
field(1628, "GAME_ERROR_ACK", "timestamp", "GAME_ERROR_ACK says in UTC when it was made.", TIMESTAMP)
error(1652, "E001 TIMEOUT_ERROR leads to another attempt or to a technical loss.", decision=30)
error(1653, "E002 INVALID_MOVE refuses a move and asks for another.", otherwise=9)
error(1654, "E003 PLAYER_DISCONNECT leads to a technical loss unless the player comes back.", otherwise=9)
error(1655, "E004 INVALID_STATE answers an action that the state of the match does not allow.", otherwise=9)
effect(1660, "A player that gets a game error logs it.")
effect(1661, "A player may try again while attempts are left.", decision=31)
effect(1662, "A player that gets a game error reckons with a technical loss.")
effect(1665, "The referee counts the attempts.", decision=30)
effect(1666, "When max_retries is used up, the referee declares a technical loss.", decision=30)
effect(1667, "After a technical loss the referee sends GAME_OVER with the status TECHNICAL_LOSS.", decision=30)
effect(1668, "After a technical loss the referee reports the result to the manager.", decision=33)

# 7.1 LEAGUE_QUERY
rule(1676, "LEAGUE_QUERY goes from a player to the manager.", decision=29)
rule(1677, "LEAGUE_QUERY is sent by the method league_query.", decision=1)
rule(1678, "A player asks when it wants to know the standings or the state of the league.", decision=29)
limit(1679, "A player waits 10 seconds for the answer to its query.")
field(1685, "LEAGUE_QUERY", "protocol", "LEAGUE_QUERY names the protocol league.v2.", one_of("league.v2"))
field(1686, "LEAGUE_QUERY", "message_type", "LEAGUE_QUERY says its own type.", one_of("LEAGUE_QUERY"))
field(1687, "LEAGUE_QUERY", "sender", "LEAGUE_QUERY names the player that sends it.", SENDER)
field(1688, "LEAGUE_QUERY", "timestamp", "LEAGUE_QUERY says in UTC when it was made.", TIMESTAMP)
field(1689, "LEAGUE_QUERY", "conversation_id", "LEAGUE_QUERY carries the id of its conversation.", text(1))
field(1690, "LEAGUE_QUERY", "auth_token", "LEAGUE_QUERY shows the token of its player.", text(1))
field(1692, "LEAGUE_QUERY", "league_id", "A query names its league.", text(1))
field(
    1693,
    "LEAGUE_QUERY",
    "query_type",
    "A query asks for standings or for the league's state.",
    one_of("GET_STANDINGS", "GET_STATUS"),
    otherwise=29,
)
rule(1722, "LEAGUE_QUERY_RESPONSE is the result of the call and may lack sender and conversation_id.", decision=4)
field(
    1723,
    "LEAGUE_QUERY_RESPONSE",
    "protocol",
    "LEAGUE_QUERY_RESPONSE names the protocol league.v2.",
    one_of("league.v2"),
)
field(
    1724,
    "LEAGUE_QUERY_RESPONSE",
    "message_type",
    "LEAGUE_QUERY_RESPONSE says its own type.",
    one_of("LEAGUE_QUERY_RESPONSE"),
)
field(1725, "LEAGUE_QUERY_RESPONSE", "timestamp", "LEAGUE_QUERY_RESPONSE says in UTC when it was made.", TIMESTAMP)
field(
    1726,
    "LEAGUE_QUERY_RESPONSE",
    "query_type",
    "An answer about standings repeats the type of the query.",
    one_of("GET_STANDINGS"),
    decision=29,
)
field(
    1728,
    "LEAGUE_QUERY_RESPONSE",
    "standings",
    "An answer about standings lists them as they are now.",
    array(of=obj()),
    decision=29,
)
field(
    1729,
    "LEAGUE_QUERY_RESPONSE",
    "current_round",
    "An answer about standings says which round is on.",
    integer(0),
    decision=29,
)
field(1732, "LEAGUE_QUERY_RESPONSE", "standings[].rank", "Each row of the answer has a rank.", integer(1), decision=29)
field(
    1733,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].player_id",
    "Each row of the answer has the id of its player.",
    PLAYER_ID,
    decision=29,
)
field(
    1734,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].display_name",
    "Each row of the answer has the name of its player.",
    text(1),
    decision=29,
)
field(
    1735,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].played",
    "Each row of the answer counts the matches played.",
    integer(0),
    decision=29,
)
field(
    1736,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].wins",
    "Each row of the answer counts the matches won.",
    integer(0),
    decision=29,
)
field(
    1737,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].draws",
    "Each row of the answer counts the drawn matches.",
    integer(0),
    decision=29,
)
field(
    1738,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].losses",
    "Each row of the answer counts the matches lost.",
    integer(0),
    decision=29,
)
field(
    1739,
    "LEAGUE_QUERY_RESPONSE",
    "standings[].points",
    "Each row of the answer adds up the points.",
    integer(0),
    decision=29,
)
error(1787, "league_query answers -32602 Invalid params to absent fields.", decision=10)
error(1788, "league_query answers 6001 Invalid auth token when the player's token is wrong.", decision=29)
error(1789, "league_query answers 6002 Invalid query type to a query_type it does not know.", decision=29)
error(1790, "league_query answers 6003 League not found to an unknown league_id.", decision=29)
effect(1795, "A query changes nothing at the manager.")
effect(1796, "The player that asked gets the standings of the moment.", decision=29)

# 8.3 time limits once more
limit(1849, "GAME_JOIN_ACK comes within 5 seconds.")
limit(1850, "CHOOSE_PARITY_RESPONSE comes within 30 seconds.")
limit(1851, "Any other answer comes within 10 seconds.", decision=34)

# 8.4 JSON-RPC
rule(1856, "Every message can be put into a JSON-RPC 2.0 envelope and taken out again.")
rule(1857, "A request has jsonrpc, method, params and id.", decision=2)
rule(1858, "A successful response has jsonrpc, result and id.")
rule(1859, "An error response has jsonrpc, error and id.")
rule(
    1860, "Errors of JSON-RPC have numbers of the form -32xxx, errors of the league numbers of their own.", decision=10
)

# 8.5 protocol version
rule(1865, "Every message, answers too, names the protocol league.v2.")
rule(1866, "The same thing has the same field name in every message.")
rule(1867, "Every time is in UTC, in ISO 8601.", decision=5)
rule(1868, "Every conversation has an id that no other has.", decision=4)

# 9.1 ports
rule(1879, "The manager listens on port 8000.")
rule(1896, "The first referee listens on port 8001.")
rule(1910, "The first player listens on port 8101.")

# 9.2 states
state(1917, "A league first waits for registrations, in WAITING_FOR_REGISTRATIONS.")
state(1918, "From the registrations a league goes on to CREATING_SCHEDULE.")
state(1919, "With its schedule a league goes on to RUNNING_LEAGUE, where it stays round after round.")
state(1920, "After the last round a league goes on to LEAGUE_COMPLETED.")
state(1923, "A match begins in WAITING_FOR_PLAYERS.")
state(1924, "From its players' arrival a match goes on to COLLECTING_CHOICES.")
state(1925, "With the choices a match goes on to DRAWING_NUMBER.")
state(1926, "A match ends in FINISHED.")
state(1929, "A player begins as UNREGISTERED.")
state(1930, "A player that was accepted is REGISTERED.")
state(1931, "Between its matches a player is in WAITING_FOR_ROUND.")
state(1932, "A player in a match is in IN_MATCH.")
state(1933, "A player that has chosen is in WAITING_FOR_RESULT.")

# 9.3 authentication
rule(1937, "An agent registers without a token.", decision=15)
rule(1938, "The manager gives an agent its token in the answer to its registration.", decision=18)
rule(1939, "After its registration an agent shows its token in every request.", otherwise=19)
rule(1940, "The manager checks the token of every request.")
error(1941, "A wrong token is answered with LEAGUE_ERROR and the code E012.", decision=10)

# 9.4 error handling
rule(1946, "What failed by a time-out of the network may be tried again.", decision=30)
rule(1947, "What failed because the other side was away for a while may be tried again.", decision=30)
rule(1948, "What was refused for coming too fast may be tried again.", decision=9)
rule(1951, "After a wrong token no repetition helps, only another registration.", decision=31)
rule(1952, "After a wrong field type no repetition helps, only a corrected message.", decision=31)
rule(1953, "After a taken name no repetition helps, only another name.", decision=15)
rule(1956, "A player that does not join within all its attempts loses technically.", decision=30)
rule(1957, "A player that does not choose within all its attempts loses technically.", decision=30)
rule(1958, "A player that drops out during a match loses technically.", decision=30)

# 9.5 tests
rule(1963, "Tests compare every type of message with its schema.")
rule(1964, "Tests put messages into the JSON-RPC envelope and take them out again.")
rule(1965, "Tests show that time limits are enforced.")
rule(1966, "Tests show how error answers are made.")
rule(1969, "Tests show a whole registration of a referee and of players.")
rule(1970, "Tests show a whole match from the invitation to the choice and the result.")
rule(1971, "Tests show a whole round from its announcement to its matches and standings.")
rule(1972, "Tests show a whole league from the registration to its rounds and its end.")
rule(1975, "Tests reach the limits of 5, 30 and 10 seconds.")
rule(1976, "Tests show wrong tokens.")
rule(1977, "Tests register the same agent twice.")
rule(1978, "Tests send malformed messages.")
rule(1979, "Tests let the network fail.")
