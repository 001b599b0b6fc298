"""Document 000, the message catalogue: every requirement it states, in the order of its lines.

A member that the document lists without saying "optional" counts as required wherever its parent object is sent.
A field it calls only "nullable" may be left out, unless another line of the document asks for it.
"""

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
    number,
    obj,
    one_of,
    text,
)

DOCUMENT = Document("000")

field = DOCUMENT.field
criterion = DOCUMENT.criterion
rule = DOCUMENT.rule
error = DOCUMENT.error
limit = DOCUMENT.limit

NAME = text(1, 50)
IDENTIFIER = text(1)
ROUND = integer(1)
RANK = integer(1)
COUNT = integer(0)
PARITY = one_of("even", "odd")
REGISTRATION_STATUS = one_of("ACCEPTED", "REJECTED")
TYPES = one_of(
    "REFEREE_REGISTER_REQUEST",
    "REFEREE_REGISTER_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
    "LEAGUE_REGISTER_RESPONSE",
    "ROUND_ANNOUNCEMENT",
    "ROUND_COMPLETED",
    "LEAGUE_COMPLETED",
    "GAME_INVITATION",
    "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL",
    "CHOOSE_PARITY_RESPONSE",
    "GAME_OVER",
    "MATCH_RESULT_REPORT",
    "LEAGUE_STANDINGS_UPDATE",
    "LEAGUE_ERROR",
    "GAME_ERROR",
    "LEAGUE_QUERY",
    "LEAGUE_QUERY_RESPONSE",
)
QUERIES = one_of("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")

# 1. Summary

rule(36, "Agents written in any language can talk to each other, because every message has one exact structure.")
rule(39, "Field names and data types are those of the specification, without any deviation.")
rule(42, "Registration has four message types: a request and a response for referees, and the same for players.")
rule(43, "Rounds have three message types: announcement, completion of a round, completion of the league.")
rule(44, "The course of a game has three message types: invitation, join acknowledgement, game over.")
rule(45, "The even/odd game has two message types of its own: the call for a choice and the answer to it.")
rule(46, "Results have two message types: the referee's report and the update of the standings.")
rule(47, "Queries have two message types: the question and its answer.")
rule(48, "Errors have two message types: one of the league and one of the game.")
rule(50, "The protocol has eighteen message types in all.", otherwise=22)

# 2. Envelope

rule(58, "Every message carries the five fields of the standard envelope.", decision=4)
field(62, "*", "protocol", "The protocol field of every message is league.v2.", one_of("league.v2"), decision=8)
field(63, "*", "message_type", "Every message names its type.", IDENTIFIER)
field(64, "*", "sender", "Every message names its sender as a type, a colon and an id.", SENDER, otherwise=3)
field(65, "*", "timestamp", "Every message carries the UTC time at which it was made.", TIMESTAMP, decision=5)
field(66, "*", "conversation_id", "Every message carries the id of its conversation.", IDENTIFIER, decision=4)
rule(70, "The envelope is compulsory on the wire although the printed examples leave it out.", decision=4)
rule(79, "A message from the league to all players goes to every registered player.", otherwise=30)

# 3.1 REFEREE_REGISTER_REQUEST

rule(87, "A referee sends REFEREE_REGISTER_REQUEST to the league manager.")
rule(88, "A referee registers before it may officiate any game.")
rule(89, "REFEREE_REGISTER_REQUEST is answered with REFEREE_REGISTER_RESPONSE.", decision=14)
limit(90, "A referee's registration is answered within 10 seconds.")
field(
    109,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta",
    "A referee's registration has an object that describes the referee.",
    obj(),
)
field(
    110,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.display_name",
    "A referee's display name has 1 to 50 characters.",
    NAME,
    decision=15,
)
field(
    115,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.version",
    "A referee states its software version as three numbers with dots.",
    SEMVER,
)
field(
    119,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.game_types",
    "A referee lists at least one game type that it can judge.",
    array(1, of=IDENTIFIER),
    decision=16,
)
rule(121, "The game types known are even_odd and, in future, tic_tac_toe.", decision=16)
field(
    124,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.contact_endpoint",
    "A referee gives the HTTP or HTTPS URL at which it receives messages.",
    URL,
)
rule(126, "The league manager can reach a referee's endpoint.", decision=20)
field(
    129,
    "REFEREE_REGISTER_REQUEST",
    "referee_meta.max_concurrent_matches",
    "A referee says how many matches, from 1 to 10, it can run at the same time.",
    integer(1, 10),
    decision=17,
)
rule(132, "Two to five matches at a time are the recommended capacity of a referee.", decision=17)
criterion(143, "A referee's registration is sent before the league starts.", decision=21)
criterion(144, "A referee's registration has every required field with a valid value.", decision=17)
criterion(145, "A referee's game types include even_odd.", decision=16)
criterion(146, "The league manager checks that it can reach a referee's endpoint.", decision=20)
criterion(147, "A referee has its answer within 10 seconds of asking to register.")

# 3.2 REFEREE_REGISTER_RESPONSE

rule(153, "The league manager sends REFEREE_REGISTER_RESPONSE to the referee.")
rule(154, "The answer to a referee's registration either confirms it or refuses it with a reason.", decision=14)
rule(155, "REFEREE_REGISTER_RESPONSE is sent only as the answer to REFEREE_REGISTER_REQUEST.")
limit(156, "REFEREE_REGISTER_RESPONSE is itself an answer and has no time limit of its own.")
field(
    182,
    "REFEREE_REGISTER_RESPONSE",
    "status",
    "The outcome of a referee's registration is ACCEPTED or REJECTED.",
    REGISTRATION_STATUS,
)
rule(184, "The status of a referee's registration is compared with regard to case.")
field(
    186,
    "REFEREE_REGISTER_RESPONSE",
    "referee_id",
    "An accepted referee is given an id of REF and at least two digits.",
    nullable(REFEREE_ID),
    required=False,
    decision=7,
)
rule(187, "Referee ids are counted up from REF01.", decision=7)
rule(188, "A referee id is given only together with ACCEPTED.")
rule(189, "The referee id is null when the registration is refused.", decision=14)
field(
    191,
    "REFEREE_REGISTER_RESPONSE",
    "reason",
    "A refused referee is told why in words.",
    nullable(text()),
    required=False,
    decision=14,
)
rule(192, "A reason is given to a referee only together with REJECTED.", decision=14)
rule(
    194,
    "A started league, an unsupported game and an unreachable endpoint are reasons to refuse a referee.",
    decision=14,
)
rule(195, "The reason is null when the referee is accepted.")
criterion(199, "The status in the answer to a referee is exactly ACCEPTED or REJECTED.")
criterion(200, "An accepted referee gets an id, and the reason is null.")
criterion(201, "A refused referee gets a reason, and its id is null.", decision=14)
criterion(202, "A referee keeps its id and its token for the messages it sends later.", decision=18)

# 3.3 LEAGUE_REGISTER_REQUEST

rule(208, "A player sends LEAGUE_REGISTER_REQUEST to the league manager.")
rule(209, "A player registers in order to take part in the tournament.")
rule(210, "LEAGUE_REGISTER_REQUEST is answered with LEAGUE_REGISTER_RESPONSE.", decision=14)
limit(211, "A player's registration is answered within 10 seconds.")
field(
    229,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta",
    "A player's registration has an object that describes the player.",
    obj(),
)
field(
    230,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.display_name",
    "A player's display name has 1 to 50 characters.",
    NAME,
    decision=15,
)
field(
    235,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.version",
    "A player states its software version as three numbers with dots.",
    SEMVER,
)
field(
    239,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.game_types",
    "A player lists the game types that it can play.",
    array(1, of=IDENTIFIER),
    decision=16,
)
rule(240, "A player's game types include even_odd in this tournament.", decision=16)
field(
    243,
    "LEAGUE_REGISTER_REQUEST",
    "player_meta.contact_endpoint",
    "A player gives the HTTP or HTTPS URL at which it receives messages.",
    URL,
)
rule(245, "Referees can reach a player's endpoint.", decision=20)
criterion(256, "A player's registration is sent before the league starts.", decision=9)
criterion(257, "A player's registration has every required field with a valid value.")
criterion(258, "A player's endpoint can be reached.", decision=20)
criterion(259, "A player's display name should differ from all others, without being forced to.", otherwise=15)
criterion(260, "A player's request to register is followed by an answer within 10 seconds.")

# 3.4 LEAGUE_REGISTER_RESPONSE

rule(266, "The league manager sends LEAGUE_REGISTER_RESPONSE to the player.")
rule(267, "The answer to a player's registration either confirms it or refuses it with a reason.", decision=14)
rule(268, "LEAGUE_REGISTER_RESPONSE is sent only as the answer to LEAGUE_REGISTER_REQUEST.")
limit(269, "LEAGUE_REGISTER_RESPONSE is itself an answer and has no time limit of its own.")
rule(279, "The reason is null when the player is accepted.")
rule(288, "The player id is null when the registration is refused.", decision=14)
field(
    295,
    "LEAGUE_REGISTER_RESPONSE",
    "status",
    "The outcome of a player's registration is ACCEPTED or REJECTED.",
    REGISTRATION_STATUS,
)
field(
    296,
    "LEAGUE_REGISTER_RESPONSE",
    "player_id",
    "An accepted player is given an id of P and at least two digits.",
    nullable(PLAYER_ID),
    required=False,
    decision=7,
)
rule(297, "Player ids are counted up from P01.", decision=7)
rule(298, "A player id is given only together with ACCEPTED.")
field(
    299,
    "LEAGUE_REGISTER_RESPONSE",
    "reason",
    "A refused player is told why.",
    nullable(text()),
    required=False,
    decision=14,
)
error(303, "A player that registers after the start is refused, because registration is closed.", decision=14)
error(
    304, "A player that does not know the league's game is refused, because its game type is unsupported.", decision=14
)
error(305, "A player whose endpoint cannot be reached is refused for that reason.", decision=20)
error(306, "A player that speaks another protocol version is refused for the mismatch.", decision=8)
error(307, "A player is refused when the league already has as many players as it takes.", decision=14)
criterion(311, "A player holds its registration answer within 10 seconds.")
criterion(312, "An accepted player keeps its id for every later message.")
criterion(313, "The reason given to a refused player makes the cause clear.", decision=14)
criterion(314, "A player keeps the token that came with the answer to its registration.", decision=18)

# 4.1 ROUND_ANNOUNCEMENT

rule(322, "The league manager sends ROUND_ANNOUNCEMENT to all players.", decision=22)
rule(323, "ROUND_ANNOUNCEMENT announces the start of a round with the whole list of its matches.")
rule(324, "ROUND_ANNOUNCEMENT is a broadcast to which no answer is expected.", decision=24)
limit(325, "A round is announced at least 60 seconds before its first match.", decision=23)
field(355, "ROUND_ANNOUNCEMENT", "league_id", "An announcement names its league.", IDENTIFIER)
field(358, "ROUND_ANNOUNCEMENT", "round_id", "An announcement gives the round's number, counted from 1.", ROUND)
rule(360, "Round numbers go up one at a time.")
field(363, "ROUND_ANNOUNCEMENT", "matches", "An announcement lists at least one match.", array(1, of=obj()))
rule(365, "A round has at most half as many matches as there are players.", decision=28)
field(
    368,
    "ROUND_ANNOUNCEMENT",
    "matches[].match_id",
    "The id of each announced match is made of R, the round, M and the match's number.",
    MATCH_ID,
)
rule(369, "The round number inside a match id is that of the round it is played in.")
field(372, "ROUND_ANNOUNCEMENT", "matches[].game_type", "Each announced match names its game.", IDENTIFIER)
rule(373, "The game of every match in this tournament is even_odd.")
field(375, "ROUND_ANNOUNCEMENT", "matches[].player_A_id", "Each announced match names its first player.", PLAYER_ID)
field(378, "ROUND_ANNOUNCEMENT", "matches[].player_B_id", "Each announced match names its second player.", PLAYER_ID)
field(
    381,
    "ROUND_ANNOUNCEMENT",
    "matches[].referee_endpoint",
    "Each announced match gives the URL of its referee.",
    URL,
)
rule(382, "The referee calls the players; players do not turn to the referee first.", decision=32)
criterion(394, "Every registered player is sent the announcement of a round.", otherwise=30)
criterion(395, "The announcement goes out 60 seconds or more before the round's first match.", decision=23)
criterion(396, "The announcement leaves out no match of the round.")
criterion(397, "No player appears in more than one match of a round.", decision=28)
criterion(398, "No match pairs a player with itself.")

# 4.2 ROUND_COMPLETED

rule(404, "The league manager sends ROUND_COMPLETED to all players and all referees.", decision=22)
rule(405, "ROUND_COMPLETED says that a round is over and sums it up.")
rule(406, "ROUND_COMPLETED is a broadcast to which no answer is expected.", decision=24)
limit(407, "ROUND_COMPLETED is sent at once when the last match of its round has ended.", decision=25)
field(429, "ROUND_COMPLETED", "league_id", "The end of a round names its league.", IDENTIFIER)
field(430, "ROUND_COMPLETED", "round_id", "The end of a round gives the number of the round that is over.", ROUND)
field(
    431,
    "ROUND_COMPLETED",
    "matches_completed",
    "The end of a round counts the matches that were finished.",
    COUNT,
    decision=26,
)
field(
    432,
    "ROUND_COMPLETED",
    "next_round_id",
    "The end of a round gives the number of the next one, or null.",
    nullable(ROUND),
    required=False,
)
rule(433, "There is no next round number after the last round.")
field(
    436,
    "ROUND_COMPLETED",
    "summary",
    "The end of a round carries the round's statistics.",
    obj(),
    decision=26,
)
field(
    437,
    "ROUND_COMPLETED",
    "summary.total_matches",
    "The round's statistics count the matches that were scheduled.",
    COUNT,
    decision=26,
)
field(
    438,
    "ROUND_COMPLETED",
    "summary.wins",
    "The round's statistics count the matches that were won in play.",
    COUNT,
    decision=26,
)
field(
    439,
    "ROUND_COMPLETED",
    "summary.draws",
    "The round's statistics count the matches that were drawn.",
    COUNT,
    decision=26,
)
field(
    440,
    "ROUND_COMPLETED",
    "summary.technical_losses",
    "The round's statistics count the matches that a time-out or an error decided.",
    COUNT,
    decision=26,
)
criterion(444, "A round is declared complete only when every one of its matches has ended.")
criterion(445, "Wins, draws and technical losses of a round add up to its matches.", decision=26)
criterion(446, "The number of the next round is null after the final round.")
criterion(447, "The end of a round is told to all players and all referees.", decision=22)

# 4.3 LEAGUE_COMPLETED

rule(453, "The league manager sends LEAGUE_COMPLETED to all players and all referees.")
rule(454, "LEAGUE_COMPLETED announces the end of the tournament with the final standings.")
rule(455, "LEAGUE_COMPLETED is the last broadcast and expects no answer.", decision=24)
limit(456, "LEAGUE_COMPLETED is sent when all rounds are over.", decision=25)
field(482, "LEAGUE_COMPLETED", "league_id", "The end of the league names the league.", IDENTIFIER)
field(483, "LEAGUE_COMPLETED", "total_rounds", "The end of the league counts the rounds played.", COUNT)
field(484, "LEAGUE_COMPLETED", "total_matches", "The end of the league counts the matches of all rounds.", COUNT)
field(486, "LEAGUE_COMPLETED", "champion", "The end of the league describes the winner.", obj())
field(487, "LEAGUE_COMPLETED", "champion.player_id", "The champion is named by player id.", PLAYER_ID)
field(488, "LEAGUE_COMPLETED", "champion.display_name", "The champion's display name is given.", NAME)
field(489, "LEAGUE_COMPLETED", "champion.points", "The champion's total points are given.", COUNT)
field(
    491,
    "LEAGUE_COMPLETED",
    "final_standings",
    "The end of the league carries the complete ranking.",
    array(of=obj()),
    otherwise=6,
)
rule(492, "The final standings are in ascending order of rank.", decision=27)
rule(493, "The final standings have a row for every registered player.", otherwise=6)
field(
    496,
    "LEAGUE_COMPLETED",
    "final_standings[].rank",
    "Each final row has a rank, of which 1 is the champion's.",
    RANK,
    decision=27,
)
field(497, "LEAGUE_COMPLETED", "final_standings[].player_id", "Each final row names its player by id.", PLAYER_ID)
field(498, "LEAGUE_COMPLETED", "final_standings[].display_name", "Each final row has the player's name.", NAME)
field(499, "LEAGUE_COMPLETED", "final_standings[].points", "Each final row has the player's total points.", COUNT)
criterion(509, "The league is declared complete only after its last round.", decision=25)
criterion(510, "No player has more points than the champion.", decision=27)
criterion(511, "The final standings are sorted by rank.", decision=27)
criterion(512, "No registered player is missing from the final standings.", otherwise=6)
criterion(513, "The end of the league is told to every agent.")

# 5.1 GAME_INVITATION

rule(521, "A referee sends GAME_INVITATION to a player.")
rule(523, "GAME_INVITATION is answered with GAME_JOIN_ACK.")
limit(524, "An invitation is answered within 5 seconds.", decision=30)
field(543, "GAME_INVITATION", "league_id", "An invitation names the league.", IDENTIFIER)
field(544, "GAME_INVITATION", "round_id", "An invitation gives the round's number.", ROUND)
field(545, "GAME_INVITATION", "match_id", "An invitation names the match.", MATCH_ID)
field(546, "GAME_INVITATION", "game_type", "An invitation names the game, here even_odd.", IDENTIFIER)
field(
    548,
    "GAME_INVITATION",
    "role_in_match",
    "An invitation tells the player whether it is PLAYER_A or PLAYER_B.",
    one_of("PLAYER_A", "PLAYER_B"),
)
rule(550, "Being player A or player B makes no difference in play.")
field(552, "GAME_INVITATION", "opponent_id", "An invitation names the opponent by player id.", PLAYER_ID)
field(
    556,
    "GAME_INVITATION",
    "conversation_id",
    "An invitation carries the id of the match's conversation.",
    IDENTIFIER,
)
rule(557, "All messages of one game carry the conversation id of its invitation.")
criterion(568, "Player A and player B are both invited.")
criterion(569, "The invitation tells the player who its opponent is.")
criterion(570, "Each match has a conversation id that no other match has.")
criterion(571, "An invited player has to answer within 5 seconds.", decision=30)

# 5.2 GAME_JOIN_ACK

rule(577, "A player sends GAME_JOIN_ACK to the referee.", decision=32)
rule(579, "GAME_JOIN_ACK is the answer to GAME_INVITATION.", decision=32)
limit(580, "The 5 seconds for the acknowledgement are those of the invitation.", decision=30)
field(608, "GAME_JOIN_ACK", "match_id", "An acknowledgement names its match.", MATCH_ID)
rule(608, "The match in an acknowledgement is the one in the invitation.", decision=31, letter="b")
field(609, "GAME_JOIN_ACK", "player_id", "An acknowledgement names the player by id.", PLAYER_ID)
field(
    610,
    "GAME_JOIN_ACK",
    "arrival_timestamp",
    "An acknowledgement gives the player's own clock, in UTC.",
    TIMESTAMP,
    decision=5,
)
rule(612, "The arrival time of an acknowledgement is in UTC and no other zone.", decision=5)
field(614, "GAME_JOIN_ACK", "accept", "An acknowledgement says with a boolean whether the player plays.", boolean())
rule(615, "Accepting with true means that the player is ready to play.")
rule(616, "Declining with false ends in a technical loss.", decision=33)
criterion(620, "The acknowledgement is sent within 5 seconds of the invitation's arrival.", decision=30)
criterion(621, "The acknowledgement repeats the match id of the invitation.", decision=31)
criterion(622, "The arrival time is written in UTC.", decision=5)
criterion(623, "A player that declines forfeits the match and gets no points.", decision=33)
criterion(
    624, "A player that does not answer an invitation in time forfeits the match and gets no points.", decision=30
)

# 5.3 GAME_OVER

rule(630, "A referee sends GAME_OVER to both players.", decision=34)
rule(632, "GAME_OVER informs and needs no answer.", decision=34)
limit(633, "An acknowledgement of GAME_OVER may come within 5 seconds and is optional.", decision=34)
field(699, "GAME_OVER", "match_id", "The end of a game names the match.", MATCH_ID)
field(700, "GAME_OVER", "game_type", "The end of a game names the game, here even_odd.", IDENTIFIER)
field(702, "GAME_OVER", "game_result", "The end of a game carries the result as an object.", obj())
field(
    703,
    "GAME_OVER",
    "game_result.status",
    "The outcome of a game is WIN, DRAW or TECHNICAL_LOSS.",
    one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
)
field(
    706,
    "GAME_OVER",
    "game_result.winner_player_id",
    "The result of a game names the winner, or null.",
    nullable(PLAYER_ID),
    decision=33,
)
rule(707, "A drawn game has no winner.")
rule(708, "A game that is won or ends in a technical loss has a winner.", otherwise=33)
field(
    710,
    "GAME_OVER",
    "game_result.drawn_number",
    "The result of a game gives the number drawn, from 1 to 10, or null.",
    nullable(integer(1, 10)),
    decision=33,
)
rule(711, "No number is drawn in a game that ends in a technical loss.", decision=33)
rule(712, "A game that was played to its end has a number from 1 to 10.")
field(
    714,
    "GAME_OVER",
    "game_result.number_parity",
    "The result of a game gives the parity of the number drawn, or null.",
    nullable(PARITY),
    required=False,
    decision=33,
)
rule(716, "The parity is null after a technical loss.", decision=33)
field(718, "GAME_OVER", "game_result.choices", "The result of a game maps each player to its choice.", obj())
rule(719, "The keys of the choices in a game's result are the ids of its two players.")
field(
    720,
    "GAME_OVER",
    "game_result.choices{}",
    "Each choice in a game's result is even, odd, or null for a player that gave none.",
    nullable(PARITY),
)
field(
    723,
    "GAME_OVER",
    "game_result.reason",
    "The result of a game explains itself in words.",
    text(),
    decision=34,
)
criterion(737, "Both players are sent the same end of the game.", decision=34)
criterion(738, "The end of the game tells the choices, the number and the winner.", decision=33)
criterion(739, "The end of the game shows each player what the other one chose.")
criterion(740, "The end of the game gives a clear reason for its outcome.", decision=34)
criterion(741, "The status of a game is the one that fits how it ended.", decision=33)

# 6.1 CHOOSE_PARITY_CALL

rule(749, "A referee sends CHOOSE_PARITY_CALL to a player.")
rule(751, "CHOOSE_PARITY_CALL is answered with CHOOSE_PARITY_RESPONSE.")
limit(752, "A call for a choice is answered within 30 seconds.", decision=30)
field(777, "CHOOSE_PARITY_CALL", "match_id", "A call for a choice names the match.", MATCH_ID)
field(778, "CHOOSE_PARITY_CALL", "player_id", "A call for a choice names the player who is to choose.", PLAYER_ID)
field(779, "CHOOSE_PARITY_CALL", "game_type", "A call for a choice names the game, here even_odd.", IDENTIFIER)
field(
    781,
    "CHOOSE_PARITY_CALL",
    "context",
    "A call for a choice may tell the player about its situation, and should.",
    obj(),
    required=False,
)
field(782, "CHOOSE_PARITY_CALL", "context.opponent_id", "The situation names the opponent.", PLAYER_ID)
field(783, "CHOOSE_PARITY_CALL", "context.round_id", "The situation gives the number of the round.", ROUND)
field(
    784,
    "CHOOSE_PARITY_CALL",
    "context.your_standings",
    "The situation may tell the player its own record.",
    obj(),
    required=False,
    decision=22,
)
field(785, "CHOOSE_PARITY_CALL", "context.your_standings.wins", "A player's record counts its wins.", COUNT)
field(786, "CHOOSE_PARITY_CALL", "context.your_standings.losses", "A player's record counts its losses.", COUNT)
field(787, "CHOOSE_PARITY_CALL", "context.your_standings.draws", "A player's record counts its draws.", COUNT)
field(
    789,
    "CHOOSE_PARITY_CALL",
    "deadline",
    "A call for a choice gives the UTC time by which the answer must have arrived.",
    TIMESTAMP,
    decision=5,
)
rule(790, "The deadline of a call is written in ISO 8601 and ends in Z.", decision=5)
rule(792, "The deadline of a call is 30 seconds after the call.", decision=31)
criterion(802, "The call for a choice comes after both players have confirmed that they are there.")
criterion(803, "Both players are called at the same time and not one after the other.")
criterion(804, "The call for a choice says until when it can be answered.", decision=31)
criterion(805, "The situation in the call is of use to a strategy.")
criterion(806, "A called player has to answer within 30 seconds.", decision=30)

# 6.2 CHOOSE_PARITY_RESPONSE

rule(812, "A player sends CHOOSE_PARITY_RESPONSE to the referee.", decision=32)
rule(814, "CHOOSE_PARITY_RESPONSE is the answer to CHOOSE_PARITY_CALL.", decision=32)
limit(815, "It is the referee that enforces the 30 seconds for a choice.", decision=32)
field(830, "CHOOSE_PARITY_RESPONSE", "match_id", "A choice names its match.", MATCH_ID)
rule(830, "The match in a choice is the one in the call.", decision=31, letter="b")
field(831, "CHOOSE_PARITY_RESPONSE", "player_id", "A choice names the player who makes it.", PLAYER_ID)
field(832, "CHOOSE_PARITY_RESPONSE", "parity_choice", "A choice is even or odd.", PARITY, decision=11)
rule(833, "A choice is a string in lower case and nothing but even or odd.")
rule(834, "Another case, an abbreviation, a number, a boolean, null and an empty string are not choices.", decision=11)
criterion(839, "The string even is a valid choice.")
criterion(840, "The string odd is a valid choice.")
error(843, "The choice Even has the wrong case and gets E004.", decision=31)
error(844, "The choice EVEN has the wrong case and gets E004.", decision=31)
error(845, "The choice e is an abbreviation and gets E004.", decision=31)
error(846, "The choice maybe is not one of the two and gets E004.", decision=31)
error(847, "The choice 0 is an integer and gets E004.", decision=11)
error(848, "The choice false is a boolean and gets E004.", decision=11)
error(849, "The choice null gets E004.", decision=11)
error(850, "An empty string as the choice gets E004.", decision=31)
error(855, "The referee answers an invalid choice with a GAME_ERROR that carries E004.", decision=31)
rule(856, "After an invalid choice the player may try again in the time that is left.", decision=31)
rule(857, "A player without a valid choice when the time is up has a technical loss.", decision=31)
field(
    864,
    "GAME_ERROR",
    "error_name",
    "A game error may carry the error's name in a field of its own.",
    IDENTIFIER,
    required=False,
    decision=12,
)
rule(865, "The error about an invalid choice says what was allowed and what was received.", decision=12)
field(
    866,
    "GAME_ERROR",
    "retryable",
    "A game error may say whether another try is possible.",
    boolean(),
    required=False,
    decision=13,
)
rule(866, "An invalid choice is reported as one that can be tried again.", decision=31, letter="b")
field(
    867,
    "GAME_ERROR",
    "time_remaining",
    "A game error may give the seconds that are left.",
    number(),
    required=False,
    decision=31,
)
criterion(873, "The choice is sent within 30 seconds of the call's arrival.", decision=30)
criterion(874, "The choice is exactly even or odd, with regard to case.")
criterion(875, "The choice is a string and neither an integer nor a boolean.", decision=11)
criterion(876, "The choice repeats the match id of the call.", decision=31)
criterion(877, "An invalid choice is answered with an error and a chance to try again.", decision=31)
criterion(878, "A player that does not choose in time is given a technical loss.", decision=30)

# 7.1 MATCH_RESULT_REPORT

rule(886, "A referee sends MATCH_RESULT_REPORT to the league manager.")
rule(887, "The league manager updates the standings from the referee's report.")
rule(888, "A report has no answer of its own but shows its effect in LEAGUE_STANDINGS_UPDATE.", otherwise=25)
limit(889, "A report of a result is taken within 10 seconds.")
field(919, "MATCH_RESULT_REPORT", "league_id", "A report names the league.", IDENTIFIER)
field(920, "MATCH_RESULT_REPORT", "round_id", "A report gives the round's number.", ROUND)
field(921, "MATCH_RESULT_REPORT", "match_id", "A report names the match.", MATCH_ID)
field(922, "MATCH_RESULT_REPORT", "game_type", "A report names the game, here even_odd.", IDENTIFIER)
field(924, "MATCH_RESULT_REPORT", "result", "A report carries the result as an object.", obj())
field(
    925,
    "MATCH_RESULT_REPORT",
    "result.winner",
    "The reported result names the winner, or null.",
    nullable(PLAYER_ID),
    required=False,
    decision=33,
)
rule(926, "The winner of a reported draw is null.")
rule(927, "A reported win or technical loss has a winner.", otherwise=33)
field(929, "MATCH_RESULT_REPORT", "result.score", "The reported result maps each player to its points.", obj())
rule(930, "The keys of the reported score are player ids.")
field(
    931,
    "MATCH_RESULT_REPORT",
    "result.score{}",
    "A player gets 3 points, 1 point or none for a match.",
    one_of(0, 1, 3),
)
rule(932, "A win is reported as 3 points for the winner and 0 for the loser.")
rule(933, "A draw is reported as 1 point for each player.")
field(935, "MATCH_RESULT_REPORT", "result.details", "The reported result has details of the game.", obj())
field(
    936,
    "MATCH_RESULT_REPORT",
    "result.details.drawn_number",
    "The reported details give the number drawn, from 1 to 10, or null.",
    nullable(integer(1, 10)),
    required=False,
    decision=33,
)
field(
    937,
    "MATCH_RESULT_REPORT",
    "result.details.choices",
    "The reported details map each player to its choice.",
    obj(),
)
field(
    938,
    "MATCH_RESULT_REPORT",
    "result.details.choices{}",
    "Each reported choice is even, odd, or null for a player that gave none.",
    nullable(PARITY),
)
criterion(942, "The result is reported as soon as the match is over.", decision=34)
criterion(943, "The reported score is 3 to 0, 1 to 1 or that of a technical loss, as the match ended.", decision=33)
criterion(944, "The reported details leave out nothing about the game that matters.", decision=33)
criterion(945, "The standings are updated within 5 seconds of a report.", decision=25)

# 7.2 LEAGUE_STANDINGS_UPDATE

rule(951, "The league manager sends LEAGUE_STANDINGS_UPDATE to all players.")
rule(953, "LEAGUE_STANDINGS_UPDATE is a broadcast to which no answer is expected.", decision=24)
limit(954, "The standings are published after each result that comes in.", decision=25)
field(990, "LEAGUE_STANDINGS_UPDATE", "league_id", "An update of the standings names the league.", IDENTIFIER)
field(991, "LEAGUE_STANDINGS_UPDATE", "round_id", "An update of the standings gives the current round.", ROUND)
field(
    993,
    "LEAGUE_STANDINGS_UPDATE",
    "standings",
    "An update carries a ranked list of the players.",
    array(of=obj()),
    decision=6,
)
rule(994, "The standings are in ascending order of rank.", decision=27)
rule(995, "The standings have a row for every registered player, even one without points.", otherwise=6)
field(
    998,
    "LEAGUE_STANDINGS_UPDATE",
    "standings[].rank",
    "Each row has a rank, of which 1 is the first place.",
    RANK,
    decision=27,
)
field(999, "LEAGUE_STANDINGS_UPDATE", "standings[].player_id", "Each row names its player by id.", PLAYER_ID)
field(1000, "LEAGUE_STANDINGS_UPDATE", "standings[].display_name", "Each row has the player's name.", NAME)
field(1001, "LEAGUE_STANDINGS_UPDATE", "standings[].played", "Each row counts the games played.", COUNT)
field(1002, "LEAGUE_STANDINGS_UPDATE", "standings[].wins", "Each row counts the wins.", COUNT)
field(1003, "LEAGUE_STANDINGS_UPDATE", "standings[].draws", "Each row counts the draws.", COUNT)
field(1004, "LEAGUE_STANDINGS_UPDATE", "standings[].losses", "Each row counts the losses.", COUNT)
field(1005, "LEAGUE_STANDINGS_UPDATE", "standings[].points", "Each row has the total of points.", COUNT)
rule(1006, "A player's points are three for each win, one for each draw and none for a loss.")
criterion(1016, "All players are sent the standings after each match.", decision=25)
criterion(1017, "The standings sent are sorted by rising rank.", decision=27)
criterion(1018, "The points in the standings are correct.")
criterion(1019, "The games a player has played are its wins, draws and losses together.")
criterion(1020, "Players with equal points are ranked by the tie-break rules.", decision=27)
criterion(1021, "The standings go out less than 5 seconds after a result.", decision=25)

# 8.1 LEAGUE_QUERY

rule(1029, "A player or a referee sends LEAGUE_QUERY to the league manager.")
rule(1031, "LEAGUE_QUERY is answered with LEAGUE_QUERY_RESPONSE.", decision=29)
limit(1032, "A query is answered within 10 seconds.")
rule(1043, "A query for the next match says in its parameters for which player.", decision=29)
rule(1054, "A query for the standings needs no parameters.", decision=29)
rule(1065, "A query for the schedule may name a round in its parameters.", decision=29)
rule(1077, "A query for a player's statistics says in its parameters for which player.", decision=29)
field(1084, "LEAGUE_QUERY", "league_id", "A query names the league.", IDENTIFIER)
field(1085, "LEAGUE_QUERY", "query_type", "A query is of one of four types.", QUERIES, otherwise=29)
rule(1087, "GET_STANDINGS returns the current ranking.", decision=29)
rule(1088, "GET_SCHEDULE returns the matches of one round or of all.", decision=29)
rule(1089, "GET_NEXT_MATCH returns the next match of one player.", decision=29)
rule(1090, "GET_PLAYER_STATS returns one player's statistics in detail.", decision=29)
field(1092, "LEAGUE_QUERY", "query_params", "A query carries its parameters as an object.", obj(), decision=29)
rule(1093, "Which parameters a query has depends on its type.", decision=29)
rule(1094, "The parameters of a query may be an empty object.", decision=29)
criterion(1098, "A query carries the token of its sender.", decision=29)
field(1098, "LEAGUE_QUERY", "auth_token", "A query has a field for its token.", IDENTIFIER, decision=29, letter="b")
criterion(1099, "The type of a query is one that is supported.", decision=29)
criterion(1100, "A query carries the parameters that its type needs.", decision=29)
criterion(1101, "The asker has its answer within 10 seconds.")

# 8.2 LEAGUE_QUERY_RESPONSE

rule(1107, "The league manager sends LEAGUE_QUERY_RESPONSE to the player or referee that asked.")
rule(1109, "LEAGUE_QUERY_RESPONSE is sent only as the answer to LEAGUE_QUERY.", decision=29)
limit(1110, "LEAGUE_QUERY_RESPONSE is itself an answer and has no time limit of its own.")
rule(1121, "The next match is told by its id, its round, the opponent and the referee's endpoint.", decision=29)
rule(1138, "The standings in an answer have rows with rank, player id and points.", decision=29)
field(
    1162,
    "LEAGUE_QUERY_RESPONSE",
    "query_type",
    "An answer to a query repeats the type of the query.",
    QUERIES,
    otherwise=29,
)
field(
    1163,
    "LEAGUE_QUERY_RESPONSE",
    "success",
    "An answer to a query says with a boolean whether it succeeded.",
    boolean(),
    decision=29,
)
field(
    1166,
    "LEAGUE_QUERY_RESPONSE",
    "data",
    "An answer to a query that succeeded carries its results as an object.",
    obj(),
    required=False,
    decision=29,
)
rule(1166, "A successful answer is never without its data.", decision=29, letter="b")
rule(1167, "The shape of the data in an answer depends on the type of the query.", decision=29)
field(
    1170,
    "LEAGUE_QUERY_RESPONSE",
    "error",
    "An answer to a query that failed carries the error as an object.",
    obj(),
    required=False,
    decision=29,
)
rule(1170, "An answer without success is never without its error.", decision=29, letter="b")
field(
    1171,
    "LEAGUE_QUERY_RESPONSE",
    "error.error_code",
    "The error of a failed query has a code of E and three digits.",
    ERROR_CODE,
    decision=29,
)
field(
    1172,
    "LEAGUE_QUERY_RESPONSE",
    "error.error_name",
    "The error of a failed query has a name.",
    IDENTIFIER,
    decision=12,
)
field(
    1173,
    "LEAGUE_QUERY_RESPONSE",
    "error.error_description",
    "The error of a failed query is described in words.",
    text(),
    decision=12,
)
criterion(1177, "The answer's query type is the one that was asked.", decision=29)
criterion(1178, "The data of a successful answer hold what was asked for.", decision=29)
criterion(1179, "The error of a failed query explains clearly what is wrong.", decision=12)
criterion(1180, "An answer to a query arrives within 10 seconds.")

# 9.1 LEAGUE_ERROR

rule(1188, "The league manager sends LEAGUE_ERROR to a player or a referee.", decision=10)
rule(1190, "LEAGUE_ERROR is a notice to which no answer is expected.", decision=10)
rule(1201, "The context of a refused token tells the token that was shown.", otherwise=13)
rule(1202, "The context of a refused token tells what a token should look like.", decision=18)
field(
    1209,
    "LEAGUE_ERROR",
    "error_code",
    "A league error has a code of E and three digits.",
    ERROR_CODE,
    decision=9,
)
field(
    1213,
    "LEAGUE_ERROR",
    "error_description",
    "The description of a league error is the error's name.",
    IDENTIFIER,
    decision=12,
)
field(
    1217,
    "LEAGUE_ERROR",
    "original_message_type",
    "A league error names the type of the message that caused it.",
    IDENTIFIER,
    decision=13,
)
field(
    1220,
    "LEAGUE_ERROR",
    "context",
    "A league error may carry further facts for whoever looks for the mistake.",
    obj(),
    required=False,
    decision=13,
)
rule(1221, "What the context of a league error holds depends on the error.", decision=13)
error(1226, "A compulsory field that is missing gets E003 MISSING_REQUIRED_FIELD.", decision=9)
error(1227, "A player id that nobody has gets E005 PLAYER_NOT_REGISTERED.", decision=9)
error(1228, "A message without the token it needs gets E011 AUTH_TOKEN_MISSING.", decision=9)
error(1229, "A token that is wrong or no longer valid gets E012 AUTH_TOKEN_INVALID.", decision=9)
error(1230, "A protocol version that is not supported gets E018 PROTOCOL_VERSION_MISMATCH.", decision=8)
error(1231, "A registration after the start of the league gets E019 LATE_REGISTRATION.", decision=9)
error(1232, "A timestamp that is not in UTC gets E021 INVALID_TIMESTAMP.", decision=5)
criterion(1236, "The code of a league error is in the official table.", decision=9)
criterion(1237, "The description of a league error makes clear what went wrong.", decision=12)
criterion(1238, "A league error lets the agent see which of its messages is meant.", decision=13)
criterion(1239, "The context of a league error tells the agent something it can act on.", decision=13)

# 9.2 GAME_ERROR

rule(1245, "A referee sends GAME_ERROR to a player.")
rule(1247, "A player answers a game error by trying again where it can, and else accepts that it failed.", decision=31)
rule(1284, "The context of an invalid choice tells the choice that was received.", decision=13)
rule(1285, "The context of an invalid choice lists the choices that are valid.", decision=13)
field(1293, "GAME_ERROR", "match_id", "A game error names the match in which it happened.", MATCH_ID)
field(1294, "GAME_ERROR", "error_code", "A game error has a code of E and three digits.", ERROR_CODE, decision=9)
field(
    1295,
    "GAME_ERROR",
    "error_description",
    "The description of a game error is the error's name.",
    IDENTIFIER,
    decision=12,
)
field(
    1297,
    "GAME_ERROR",
    "affected_player",
    "A game error names the player that caused it or suffers from it.",
    PLAYER_ID,
    decision=13,
)
field(
    1298,
    "GAME_ERROR",
    "action_required",
    "A game error says what the player has to do.",
    IDENTIFIER,
    decision=13,
)
field(
    1301,
    "GAME_ERROR",
    "retry_info",
    "A game error may carry an object about further tries.",
    obj(),
    required=False,
    decision=13,
)
field(
    1302,
    "GAME_ERROR",
    "retry_info.retry_count",
    "The retry information says which retry this is: 1, 2 or 3.",
    integer(1, 3),
    decision=30,
)
field(
    1303,
    "GAME_ERROR",
    "retry_info.max_retries",
    "The retry information says how many retries there can be, as a rule 3.",
    COUNT,
    decision=30,
)
field(
    1304,
    "GAME_ERROR",
    "retry_info.next_retry_at",
    "The retry information may give the UTC time of the next try.",
    TIMESTAMP,
    required=False,
    decision=30,
)
field(
    1305,
    "GAME_ERROR",
    "retry_info.time_remaining",
    "The retry information may give the seconds that are left before the time is up.",
    number(),
    required=False,
    decision=31,
)
field(
    1307,
    "GAME_ERROR",
    "context",
    "A game error may carry facts that belong to that kind of error.",
    obj(),
    required=False,
    decision=13,
)
field(
    1308,
    "GAME_ERROR",
    "consequence",
    "A game error says what follows if nothing is done about it.",
    text(),
    decision=13,
)
error(1313, "An answer that does not come in time gets E001 TIMEOUT_ERROR.", decision=30)
error(1314, "A choice that is neither even nor odd gets E004 INVALID_PARITY_CHOICE.", decision=31)
error(1315, "A network connection that fails gets E009 CONNECTION_ERROR.", decision=30)
error(1316, "An answer with another match's id gets E015 MATCH_ID_MISMATCH.", decision=31)
limit(1321, "After E001 there are at most 3 retries, 2 seconds apart.", decision=30)
limit(1322, "After E009 there are at most 3 retries, 2 seconds apart.", decision=30)
limit(1325, "E004 causes no automatic retry, but the player may choose again while there is time.", otherwise=31)
limit(1326, "E012 causes no retry until the token is right.", otherwise=31)
criterion(1330, "A game error is sent the moment it is noticed.", decision=30)
criterion(1331, "A game error that can be retried carries the retry information.", decision=13)
criterion(1332, "The consequence in a game error is clear.", decision=13)
criterion(1333, "The context of a game error helps to find the mistake.", decision=13)
criterion(1334, "A player can try again as long as its time is not up.", otherwise=31)

# 10.1 The eighteen types

rule(1346, "REFEREE_REGISTER_REQUEST goes from a referee to the league, within 10 seconds.")
rule(1347, "REFEREE_REGISTER_RESPONSE goes from the league to a referee and has no time limit.")
rule(1348, "LEAGUE_REGISTER_REQUEST goes from a player to the league, within 10 seconds.")
rule(1349, "LEAGUE_REGISTER_RESPONSE goes from the league to a player and has no time limit.")
rule(1350, "ROUND_ANNOUNCEMENT goes from the league to all players and has no time limit.", decision=22)
rule(1351, "ROUND_COMPLETED goes from the league to everybody and has no time limit.", decision=22)
rule(1352, "LEAGUE_COMPLETED goes from the league to everybody and has no time limit.")
rule(1353, "GAME_INVITATION goes from a referee to a player, who has 5 seconds.", decision=30)
rule(1354, "GAME_JOIN_ACK goes from a player to a referee within 5 seconds.", decision=32)
rule(1355, "CHOOSE_PARITY_CALL goes from a referee to a player, who has 30 seconds.", decision=30)
rule(1356, "CHOOSE_PARITY_RESPONSE goes from a player to a referee within 30 seconds.", decision=32)
rule(1357, "GAME_OVER goes from a referee to both players, with 5 seconds for it.", decision=34)
rule(1358, "MATCH_RESULT_REPORT goes from a referee to the league, within 10 seconds.")
rule(1359, "LEAGUE_STANDINGS_UPDATE goes from the league to all players and has no time limit.", decision=25)
rule(1360, "LEAGUE_ERROR goes from the league to an agent and has no time limit.", decision=10)
rule(1361, "GAME_ERROR goes from a referee to a player and has no time limit.")
rule(1362, "LEAGUE_QUERY goes from a player or referee to the league, within 10 seconds.")
rule(1363, "LEAGUE_QUERY_RESPONSE goes from the league to a player or referee and has no time limit.")

# 10.2 Fields of all messages

field(1370, "*", "protocol", "The protocol is league.v2 in all messages.", one_of("league.v2"), decision=8)
field(1371, "*", "message_type", "The type of a message is one of the eighteen.", TYPES, otherwise=22)
field(1372, "*", "sender", "The sender has the form of a type, a colon and an id.", SENDER, otherwise=3)
field(1373, "*", "timestamp", "The time of a message is ISO 8601 in UTC and ends in Z.", TIMESTAMP, decision=5)
field(1374, "*", "conversation_id", "The conversation of a message has a unique id.", IDENTIFIER, decision=4)
field(
    1377,
    "*",
    "auth_token",
    "Where a message has a token, the token is a string.",
    IDENTIFIER,
    required=False,
    decision=19,
)
rule(1377, "Every message an agent sends after its registration carries its token.", otherwise=19, letter="b")
rule(1378, "Every message about a game names its match.")
rule(1379, "Every message about one player names that player.")
rule(1380, "Every message about the whole league names the league.")

# 10.3 Allowed values

rule(1387, "The choice has two values, even and odd, both strings in lower case.")
rule(1388, "Any other value, case or type of the choice is invalid.", decision=11)
rule(1391, "The status of a registration has two values, ACCEPTED and REJECTED.")
rule(1394, "The status of a game has three values: WIN, DRAW and TECHNICAL_LOSS.")
rule(1397, "The acceptance of an invitation is a boolean, true or false.")
rule(1400, "The type of a query is GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH or GET_PLAYER_STATS.", otherwise=29)

# 10.4 Times

rule(1406, "Every timestamp is ISO 8601 in UTC.", decision=5)
rule(1408, "A timestamp has a date and a time of day down to the second.", decision=5)
rule(1409, "A timestamp with a compact date, without hyphens, occurs too.", decision=5)
rule(1412, "A timestamp ends in Z.", decision=5)
rule(1413, "A timestamp that ends in +00:00 is accepted as well.", decision=5)
rule(1414, "A timestamp with any other offset, such as +02:00 or -05:00, is invalid.", decision=5)

# 10.5 Validation

rule(1421, "The words even, Even and EVEN are three different values.")
rule(1422, "All values of the protocol are case-sensitive unless it says otherwise.")
rule(1425, "A string field takes neither an integer nor a boolean nor null.", decision=9)
rule(1426, "An integer field takes no string.", decision=9)
rule(1427, "A boolean field takes neither 0 nor 1 nor a word in quotes.", decision=9)
error(1430, "A message that lacks a required field is refused with E003.", decision=9)
error(1431, "A message with null in a required field is refused with E003.", decision=11)
rule(1434, "A time limit runs from the sending of the message to the arrival of the answer.", decision=30)
rule(1435, "A time limit that passes sets off the retries, where there are any.", decision=30)
rule(1436, "When the retries are used up the player has a technical loss.", decision=30)
rule(1439, "All messages of a game have the same match id.")
error(1440, "A message with a match id that does not fit is refused with E015.", decision=31)

# 11. User stories

criterion(1452, "The registration a player's author sends has all required fields.")
criterion(1453, "The fields of that registration have the right types.")
criterion(1454, "The endpoint in that registration can be reached.", decision=20)
criterion(1455, "That registration is answered within 10 seconds.")
criterion(1463, "A player acknowledges an invitation within 5 seconds.", decision=30)
criterion(1464, "A player that wants to play accepts with the boolean true.")
criterion(1465, "The arrival time that a player sends is a correct UTC time.", decision=5)
criterion(1473, "A player sends its choice as exactly even or odd, in lower case.")
criterion(1474, "A player sends its choice as a string and not as a number or boolean.", decision=11)
criterion(1475, "A player sends its choice within 30 seconds.", decision=30)
criterion(1483, "Error messages have a code and a description.", decision=12)
criterion(1484, "The context of an error message helps its reader to find the mistake.", decision=13)
criterion(1485, "The retry information shows whether another try is possible.", decision=13)
criterion(1493, "A player sends its query with the right query type.", decision=29)
criterion(1494, "The player that sent a query has its answer within 10 seconds.")
criterion(1495, "The data in the answer are those the player asked for.", decision=29)

# 12. Acceptance

criterion(1502, "No message is without the compulsory fields of the envelope.", decision=4)
criterion(1503, "Every message has the right value for its type.", decision=1)
criterion(1504, "Field names are exactly those specified, with regard to case.")
criterion(1505, "Strings, integers, booleans, objects and arrays are used as specified.")
criterion(1506, "A required field is never missing and never null.", decision=11)
criterion(1509, "A referee's registration has all fields of its description.", decision=17)
criterion(1510, "A player's registration has all fields of its description.")
criterion(1511, "Both registration answers have the status ACCEPTED or REJECTED.")
criterion(1512, "An agent that is accepted gets an id and a token.", decision=18)
criterion(1513, "An agent that is refused gets a reason.", decision=14)
criterion(1516, "The invitation has the opponent's id and a conversation id.")
criterion(1517, "The join acknowledgement has a boolean that says whether the player accepts.")
criterion(1518, "The answer to a call has exactly even or odd.")
criterion(1519, "The end of a game has the choices, the number drawn, the winner and a reason.", decision=33)
criterion(1522, "The report of a result has a score and details.")
criterion(1523, "An update of the standings is in order of rank.", decision=27)
criterion(1524, "Points are three times the wins plus the draws.")
criterion(1527, "A league error has a code, a description and the type of the message that caused it.", decision=13)
criterion(1528, "A game error has the player affected, the action required and the consequence.", decision=13)
criterion(1529, "An error that can be retried comes with retry information.", decision=13)
criterion(1532, "An invalid choice is refused with E004.", decision=31)
criterion(1533, "A missing required field is refused with E003.", decision=9)
criterion(1534, "A timestamp of the wrong form is refused with E021.", decision=5)
criterion(1535, "An answer counts only if it comes within the time laid down for it.", decision=30)

# 13. Success metrics

limit(1542, "All messages sent conform to the specification.")
limit(1543, "More than 99 % of messages pass validation, not counting deliberate errors.")
limit(1544, "Fewer than 1 % of messages have a field of the wrong type.")
limit(1547, "More than 80 % of the errors that can be retried are overcome by a retry.")
limit(1548, "Fewer than 5 % of messages run out of time.")
limit(1549, "Fewer than 5 % of choices are invalid.")
limit(1552, "A message and its answer take less than 500 ms within one network.")
limit(1553, "A query is answered in less than 1 second on average.")
limit(1554, "The standings follow a match in less than 5 seconds.", decision=25)
limit(1557, "More than 95 % of students implement all message types correctly.")
limit(1558, "More than 80 % of registrations succeed at the first try.")
limit(1559, "From an error to its repair takes less than 30 minutes on average.")

# 14. Technical constraints

limit(1566, "A message has at most 10 KB.", otherwise=6)
limit(1566, "A message typically has less than 2 KB.", decision=6, letter="b")
limit(1567, "The standings have at most 100 rows.", decision=6)
limit(1568, "A display name has at most 50 characters.")
limit(1571, "The registration of a referee has a time limit of 10 seconds.")
limit(1572, "The registration of a player has a time limit of 10 seconds.")
limit(1573, "The join acknowledgement has a time limit of 5 seconds.", decision=30)
limit(1574, "The choice has a time limit of 30 seconds.", decision=30)
limit(1575, "The acknowledgement of a game's end has 5 seconds, as best effort.", decision=34)
limit(1576, "The report of a result has a time limit of 10 seconds.")
limit(1577, "The query has a time limit of 10 seconds.")
limit(1578, "Every other message has a time limit of 10 seconds.", decision=24)
limit(1581, "There are at most 3 retries.", decision=30)
limit(1582, "Retries are 2 seconds apart.", decision=30)
limit(1583, "E001 and E009 can be retried.", decision=30)
limit(1584, "E004 and E012 cannot be retried.", otherwise=31)
rule(1587, "Strings are encoded in UTF-8.")
rule(1588, "Timestamps are ISO 8601 in UTC with Z at the end.", decision=5)
rule(1589, "Booleans are true and false, and neither 0 and 1 nor words in quotes.", decision=9)
rule(1590, "Integers fit into 32 bits with a sign.")
rule(1593, "No message type is ever removed or renamed.")
rule(1594, "Optional fields may be added, but no required field is ever removed.")
rule(1595, "Allowed values may be added, but none is ever removed.")
rule(1596, "The protocol has a version of three numbers, now 2.1.0.", decision=8)
