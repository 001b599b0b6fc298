"""The requirements of document 004, the message structures."""

from __future__ import annotations

from tests.documents.rows import (
    ERROR_CODE,
    MATCH_ID,
    PLAYER_ID,
    REFEREE_ID,
    SEMVER,
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

DOCUMENT = Document("004")
field = DOCUMENT.field
rule = DOCUMENT.rule
limit = DOCUMENT.limit

rule(2, "Every agent uses these message structures exactly as they are.")

# 4.1.1 REFEREE_REGISTER_REQUEST
MESSAGE = "REFEREE_REGISTER_REQUEST"
rule(7, "REFEREE_REGISTER_REQUEST is sent by a referee.")
rule(8, "REFEREE_REGISTER_REQUEST is sent to the manager.")
rule(9, "REFEREE_REGISTER_REQUEST is answered with REFEREE_REGISTER_RESPONSE.", decision=14)
rule(11, "A referee registers before the league starts.", decision=21)
field(17, MESSAGE, "referee_meta", "The request describes the referee.", obj())
field(28, MESSAGE, "referee_meta.display_name", "The referee has a name.", text())
field(29, MESSAGE, "referee_meta.version", "The referee states its version.", SEMVER)
field(
    30,
    MESSAGE,
    "referee_meta.game_types",
    "The referee lists the games it can judge.",
    array(of=text(1)),
    decision=16,
)
field(31, MESSAGE, "referee_meta.contact_endpoint", "The referee gives its address.", URL, decision=20)
field(
    32,
    MESSAGE,
    "referee_meta.max_concurrent_matches",
    "The referee says how many matches it can run at once.",
    integer(1),
    decision=17,
)

# 4.1.2 REFEREE_REGISTER_RESPONSE
MESSAGE = "REFEREE_REGISTER_RESPONSE"
rule(35, "REFEREE_REGISTER_RESPONSE is sent by the manager.")
rule(36, "REFEREE_REGISTER_RESPONSE is sent to the referee that asked.")
rule(37, "REFEREE_REGISTER_RESPONSE is not answered.")
field(52, MESSAGE, "status", "The answer says ACCEPTED or REJECTED.", one_of("ACCEPTED", "REJECTED"), decision=14)
field(
    53,
    MESSAGE,
    "referee_id",
    "An accepted referee gets its id.",
    nullable(REFEREE_ID),
    required=False,
    decision=14,
)
field(
    54,
    MESSAGE,
    "reason",
    "A refused referee is told why.",
    nullable(text()),
    required=False,
    decision=14,
)

# 4.2.1 LEAGUE_REGISTER_REQUEST
MESSAGE = "LEAGUE_REGISTER_REQUEST"
rule(59, "LEAGUE_REGISTER_REQUEST is sent by a player.")
rule(60, "LEAGUE_REGISTER_REQUEST is sent to the manager.")
rule(61, "LEAGUE_REGISTER_REQUEST is answered with LEAGUE_REGISTER_RESPONSE.", decision=14)
field(69, MESSAGE, "player_meta", "The request describes the player.", obj())
field(79, MESSAGE, "player_meta.display_name", "The player has a name.", text(), decision=15)
field(80, MESSAGE, "player_meta.version", "The player states its version.", SEMVER)
field(81, MESSAGE, "player_meta.game_types", "The player lists its games.", array(of=text(1)), decision=16)
field(82, MESSAGE, "player_meta.contact_endpoint", "The player gives its address.", URL, decision=20)

# 4.2.2 LEAGUE_REGISTER_RESPONSE
MESSAGE = "LEAGUE_REGISTER_RESPONSE"
rule(85, "LEAGUE_REGISTER_RESPONSE is sent by the manager.")
rule(86, "LEAGUE_REGISTER_RESPONSE is sent to the player that asked.")
rule(87, "LEAGUE_REGISTER_RESPONSE is not answered.")
field(102, MESSAGE, "status", "The answer says ACCEPTED or REJECTED.", one_of("ACCEPTED", "REJECTED"), decision=14)
field(
    103,
    MESSAGE,
    "player_id",
    "An accepted player gets its id.",
    nullable(PLAYER_ID),
    required=False,
    decision=14,
)
field(
    104,
    MESSAGE,
    "reason",
    "A refused player is told why.",
    nullable(text()),
    required=False,
    decision=14,
)

# 4.3.1 ROUND_ANNOUNCEMENT
MESSAGE = "ROUND_ANNOUNCEMENT"
rule(109, "ROUND_ANNOUNCEMENT is sent by the manager.")
rule(110, "ROUND_ANNOUNCEMENT is sent to all registered players.", otherwise=30)
rule(111, "ROUND_ANNOUNCEMENT is broadcast and needs no answer.", decision=23)
rule(113, "ROUND_ANNOUNCEMENT comes before each round.", decision=23)
field(119, MESSAGE, "league_id", "The announcement names the league.", text())
field(120, MESSAGE, "round_id", "The announcement has the number of the round.", integer(1))
field(121, MESSAGE, "matches", "The announcement lists the round's matches.", array(of=obj()), letter="a")
rule(121, "With four players P01 meets P02 and P03 meets P04 in round 1.", decision=28, letter="b")
field(123, MESSAGE, "matches[].match_id", "Each match has its id.", MATCH_ID)
field(124, MESSAGE, "matches[].game_type", "Each match names its game.", text(1))
field(125, MESSAGE, "matches[].player_A_id", "Each match names its first player.", PLAYER_ID)
field(126, MESSAGE, "matches[].player_B_id", "Each match names its second player.", PLAYER_ID)
field(127, MESSAGE, "matches[].referee_endpoint", "Each match has its referee's address.", URL)

# 4.4.1 GAME_INVITATION
MESSAGE = "GAME_INVITATION"
rule(143, "GAME_INVITATION is sent by the referee.")
rule(144, "GAME_INVITATION is sent to each of the match's two players.")
rule(145, "GAME_INVITATION is answered with GAME_JOIN_ACK.")
field(153, MESSAGE, "league_id", "The invitation names the league.", text())
field(154, MESSAGE, "round_id", "The invitation has the number of the round.", integer(1))
field(155, MESSAGE, "match_id", "The invitation names the match.", MATCH_ID)
field(156, MESSAGE, "game_type", "The invitation names the game.", text(1))
field(
    157,
    MESSAGE,
    "role_in_match",
    "The invitation says which of the two the player is.",
    one_of("PLAYER_A", "PLAYER_B"),
)
field(158, MESSAGE, "opponent_id", "The invitation names the other player.", PLAYER_ID)

# 4.4.2 GAME_JOIN_ACK
MESSAGE = "GAME_JOIN_ACK"
rule(164, "GAME_JOIN_ACK is sent by the invited player.")
rule(165, "GAME_JOIN_ACK is sent to the referee that invited it.")
rule(166, "GAME_JOIN_ACK is followed by CHOOSE_PARITY_CALL once every player has confirmed.", decision=32)
rule(168, "A player confirms that its invitation has arrived.")
field(174, MESSAGE, "match_id", "The confirmation names the match.", MATCH_ID)
field(175, MESSAGE, "player_id", "The confirmation names the player.", PLAYER_ID)
field(176, MESSAGE, "arrival_timestamp", "The confirmation says when the player came.", TIMESTAMP, decision=5)
field(177, MESSAGE, "accept", "The confirmation says whether the player will play.", boolean())

# 4.5.1 CHOOSE_PARITY_CALL
MESSAGE = "CHOOSE_PARITY_CALL"
rule(184, "CHOOSE_PARITY_CALL is sent by the referee.")
rule(185, "CHOOSE_PARITY_CALL is sent to each player of the match.")
rule(186, "CHOOSE_PARITY_CALL is answered with CHOOSE_PARITY_RESPONSE.")
field(194, MESSAGE, "match_id", "The call names the match.", MATCH_ID)
field(195, MESSAGE, "player_id", "The call names the player it asks.", PLAYER_ID)
field(196, MESSAGE, "game_type", "The call names the game.", text(1))
field(197, MESSAGE, "context", "The call says how things stand.", obj())
field(198, MESSAGE, "context.opponent_id", "The context names the other player.", PLAYER_ID)
field(199, MESSAGE, "context.round_id", "The context has the number of the round.", integer(1))
field(200, MESSAGE, "context.your_standings", "The context has the player's record.", obj())
field(201, MESSAGE, "context.your_standings.wins", "The record counts the wins.", integer(0))
field(202, MESSAGE, "context.your_standings.losses", "The record counts the losses.", integer(0))
field(203, MESSAGE, "context.your_standings.draws", "The record counts the draws.", integer(0))
field(206, MESSAGE, "deadline", "The call says until when it must be answered.", TIMESTAMP, decision=5)

# 4.5.2 CHOOSE_PARITY_RESPONSE
MESSAGE = "CHOOSE_PARITY_RESPONSE"
rule(211, "CHOOSE_PARITY_RESPONSE is sent by the player.")
rule(212, "CHOOSE_PARITY_RESPONSE is sent to the referee that asked.")
rule(213, "CHOOSE_PARITY_RESPONSE is followed by GAME_OVER once every player has answered.", decision=32)
field(221, MESSAGE, "match_id", "The response names the match.", MATCH_ID)
field(222, MESSAGE, "player_id", "The response names the player.", PLAYER_ID)
field(227, MESSAGE, "parity_choice", "The choice is exactly even or odd.", one_of("even", "odd"), decision=11)

# 4.6.1 GAME_OVER
MESSAGE = "GAME_OVER"
rule(232, "GAME_OVER is sent by the referee.")
rule(233, "GAME_OVER is sent to both players of the match.", decision=34)
rule(234, "GAME_OVER needs no answer.", decision=34)
field(242, MESSAGE, "match_id", "GAME_OVER names the match.", MATCH_ID)
field(243, MESSAGE, "game_type", "GAME_OVER names the game.", text(1))
field(244, MESSAGE, "game_result", "GAME_OVER has the result in detail.", obj())
field(
    245,
    MESSAGE,
    "game_result.status",
    "The result is WIN, DRAW or TECHNICAL_LOSS.",
    one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
)
field(
    246,
    MESSAGE,
    "game_result.winner_player_id",
    "The result names the winner, or nobody.",
    nullable(PLAYER_ID),
    decision=33,
)
field(247, MESSAGE, "game_result.drawn_number", "The result has the number drawn.", nullable(integer()), decision=33)
field(
    248,
    MESSAGE,
    "game_result.number_parity",
    "The result says whether the number is even or odd.",
    nullable(one_of("even", "odd")),
    decision=33,
)
field(249, MESSAGE, "game_result.choices", "The result has the choices by player.", obj())
field(
    250,
    MESSAGE,
    "game_result.choices{}",
    "Each choice is even or odd, or nothing when there was none.",
    nullable(one_of("even", "odd")),
    decision=33,
)
field(254, MESSAGE, "reason", "GAME_OVER explains the result, beside game_result.", text(), decision=34)
rule(259, "WIN means that somebody won.")
rule(260, "DRAW means that nobody won.")
rule(261, "TECHNICAL_LOSS means that a player lost by a time-out or the like.", decision=33)

# 4.6.2 MATCH_RESULT_REPORT
MESSAGE = "MATCH_RESULT_REPORT"
rule(264, "MATCH_RESULT_REPORT is sent by the referee of the match.")
rule(265, "MATCH_RESULT_REPORT is sent to the manager.")
rule(266, "MATCH_RESULT_REPORT makes the manager broadcast LEAGUE_STANDINGS_UPDATE to all players.", decision=25)
field(274, MESSAGE, "league_id", "The report names the league.", text())
field(275, MESSAGE, "round_id", "The report has the number of the round.", integer(1))
field(276, MESSAGE, "match_id", "The report names the match.", MATCH_ID)
field(277, MESSAGE, "game_type", "The report names the game.", text(1))
field(278, MESSAGE, "result", "The report has the result.", obj())
field(279, MESSAGE, "result.winner", "The result names the winner, or nobody.", nullable(PLAYER_ID), decision=33)
field(280, MESSAGE, "result.score", "The result has the points by player.", obj())
field(281, MESSAGE, "result.score{}", "A win scores 3, a draw 1 and a loss 0.", one_of(0, 1, 3), decision=33)
field(284, MESSAGE, "result.details", "The result has the game's own details.", obj())
field(
    285,
    MESSAGE,
    "result.details.drawn_number",
    "The details have the number drawn.",
    nullable(integer()),
    decision=33,
)
field(286, MESSAGE, "result.details.choices", "The details have the choices by player.", obj())
field(
    287,
    MESSAGE,
    "result.details.choices{}",
    "Each choice is even or odd, or nothing when there was none.",
    nullable(one_of("even", "odd")),
    decision=33,
)

# 4.7.1 LEAGUE_STANDINGS_UPDATE
MESSAGE = "LEAGUE_STANDINGS_UPDATE"
rule(298, "LEAGUE_STANDINGS_UPDATE is sent by the manager.")
rule(299, "LEAGUE_STANDINGS_UPDATE is sent to all registered players.", otherwise=30)
rule(300, "LEAGUE_STANDINGS_UPDATE is broadcast and needs no answer.", decision=24)
field(308, MESSAGE, "league_id", "The update names the league.", text())
field(309, MESSAGE, "round_id", "The update has the number of the round.", integer(1))
field(310, MESSAGE, "standings", "The update lists the players in order.", array(of=obj()), decision=6)
field(312, MESSAGE, "standings[].rank", "Each row has its rank, from 1.", integer(1), decision=27)
field(313, MESSAGE, "standings[].player_id", "Each row names its player.", PLAYER_ID)
field(314, MESSAGE, "standings[].display_name", "Each row has its player's name.", text())
field(315, MESSAGE, "standings[].played", "Each row counts the matches played.", integer(0))
field(316, MESSAGE, "standings[].wins", "Each row counts the wins.", integer(0))
field(317, MESSAGE, "standings[].draws", "Each row counts the draws.", integer(0))
field(318, MESSAGE, "standings[].losses", "Each row counts the losses.", integer(0))
field(319, MESSAGE, "standings[].points", "Each row has the points.", integer(0))

# 4.8.1 ROUND_COMPLETED
MESSAGE = "ROUND_COMPLETED"
rule(338, "ROUND_COMPLETED is sent by the manager.")
rule(339, "ROUND_COMPLETED is sent to all registered players.", otherwise=30)
rule(340, "ROUND_COMPLETED is broadcast and needs no answer.", decision=24)
rule(342, "ROUND_COMPLETED comes at the end of its round.", decision=25)
field(352, MESSAGE, "league_id", "The message names the league.", text())
field(357, MESSAGE, "summary.total_matches", "The summary counts the round's matches.", integer(0), decision=26)
field(358, MESSAGE, "summary.wins", "The summary counts the matches that were won.", integer(0), decision=26)
field(359, MESSAGE, "summary.draws", "The summary counts the draws.", integer(0), decision=26)
field(360, MESSAGE, "summary.technical_losses", "The summary counts the technical losses.", integer(0), decision=26)
field(366, MESSAGE, "round_id", "The message has the number of the round that ended.", integer(1))
field(367, MESSAGE, "matches_completed", "The message counts the completed matches.", integer(0), decision=26)
field(
    368,
    MESSAGE,
    "next_round_id",
    "The message has the number of the next round, or null after the last.",
    nullable(integer(1)),
)
field(369, MESSAGE, "summary", "The message sums the round up in numbers.", obj(), decision=26)

# 4.8.2 LEAGUE_COMPLETED
MESSAGE = "LEAGUE_COMPLETED"
rule(372, "LEAGUE_COMPLETED is sent by the manager.")
rule(373, "LEAGUE_COMPLETED is sent to all players and referees.")
rule(374, "LEAGUE_COMPLETED needs no answer.", decision=24)
rule(376, "LEAGUE_COMPLETED comes at the end of the league.", decision=25)
field(386, MESSAGE, "league_id", "The message names the league.", text())
field(390, MESSAGE, "champion.player_id", "The champion has its id.", PLAYER_ID)
field(391, MESSAGE, "champion.display_name", "The champion has its name.", text())
field(392, MESSAGE, "champion.points", "The champion has its points.", integer(0))
field(395, MESSAGE, "final_standings[].rank", "Each row has its rank.", integer(1), decision=27, letter="a")
field(395, MESSAGE, "final_standings[].player_id", "Each row names its player.", PLAYER_ID, letter="b")
field(395, MESSAGE, "final_standings[].points", "Each row has the points.", integer(0), letter="c")
field(404, MESSAGE, "champion", "The message describes the champion.", obj())
field(405, MESSAGE, "final_standings", "The message has the last standings.", array(of=obj()), decision=6)
field(406, MESSAGE, "total_matches", "The message counts the league's matches.", integer(0), letter="a")
field(406, MESSAGE, "total_rounds", "The message counts the league's rounds.", integer(0), letter="b")

# 4.9.1 LEAGUE_QUERY
MESSAGE = "LEAGUE_QUERY"
rule(411, "LEAGUE_QUERY is sent by a player or a referee.", decision=29)
rule(412, "LEAGUE_QUERY is sent to the manager.")
rule(413, "LEAGUE_QUERY is answered with LEAGUE_QUERY_RESPONSE.", decision=29)
field(425, MESSAGE, "auth_token", "The query shows its sender's token.", text())
field(426, MESSAGE, "league_id", "The query names the league.", text())
field(
    427,
    MESSAGE,
    "query_type",
    "The query asks for one of four things.",
    one_of("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS"),
    otherwise=29,
)
field(428, MESSAGE, "query_params", "The query has its parameters.", obj(), decision=29)
field(
    429,
    MESSAGE,
    "query_params.player_id",
    "The parameters name the player where the query is about one.",
    text(),
    required=False,
    decision=29,
)
rule(435, "GET_STANDINGS asks for the standings.", decision=29)
rule(436, "GET_SCHEDULE asks for the schedule.", decision=29)
rule(437, "GET_NEXT_MATCH asks for the next match.", decision=29)
rule(438, "GET_PLAYER_STATS asks for a player's statistics.", decision=29)

# 4.9.2 LEAGUE_QUERY_RESPONSE
MESSAGE = "LEAGUE_QUERY_RESPONSE"
rule(441, "LEAGUE_QUERY_RESPONSE is sent by the manager.")
rule(442, "LEAGUE_QUERY_RESPONSE is sent to the agent that asked.")
rule(443, "LEAGUE_QUERY_RESPONSE is not answered.")
rule(454, "The response has the conversation_id of its query.", decision=4)
field(
    455,
    MESSAGE,
    "query_type",
    "The response repeats what was asked for.",
    one_of("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS"),
    otherwise=29,
)
field(
    458,
    MESSAGE,
    "data.next_match",
    "The data describe the next match where that was asked for.",
    obj(),
    required=False,
    otherwise=29,
)
field(459, MESSAGE, "data.next_match.match_id", "The next match has its id.", MATCH_ID)
field(460, MESSAGE, "data.next_match.round_id", "The next match has its round's number.", integer(1))
field(461, MESSAGE, "data.next_match.opponent_id", "The next match names the opponent.", PLAYER_ID, letter="a")
rule(461, "With four players P01 meets P03 in round 2.", decision=28, letter="b")
field(462, MESSAGE, "data.next_match.referee_endpoint", "The next match has its referee's address.", URL)
field(469, MESSAGE, "success", "The response says whether the query succeeded.", boolean(), decision=29)
field(470, MESSAGE, "data", "A success has data.", obj(), required=False, decision=29, letter="a")
rule(470, "What the data hold depends on the query's type.", decision=29, letter="b")
field(471, MESSAGE, "error", "A failure says what went wrong.", obj(), required=False, decision=29)

# 4.10.1 LEAGUE_ERROR
MESSAGE = "LEAGUE_ERROR"
rule(476, "LEAGUE_ERROR is sent by the manager.")
rule(477, "LEAGUE_ERROR is sent to the agent that caused the error.")
rule(478, "LEAGUE_ERROR needs no answer.")
rule(480, "The manager sends LEAGUE_ERROR when something to do with the league goes wrong.", decision=10)
field(
    494,
    MESSAGE,
    "context.provided_token",
    "The context shows the refused token where there is one.",
    text(),
    required=False,
    otherwise=13,
)
field(
    495,
    MESSAGE,
    "context.expected_format",
    "The context shows what a token looks like where one was refused.",
    text(),
    required=False,
    decision=18,
)
field(501, MESSAGE, "error_code", "A league error has a code of the error table.", ERROR_CODE, decision=9)
field(502, MESSAGE, "error_description", "A league error gives the error's name.", text(1), decision=12)
field(503, MESSAGE, "original_message_type", "A league error names the type of the message at fault.", text(1))
field(504, MESSAGE, "context", "A league error has details that help to find the fault.", obj(), decision=13)

# 4.10.2 GAME_ERROR
MESSAGE = "GAME_ERROR"
rule(507, "GAME_ERROR is sent by the referee of the match.")
rule(508, "GAME_ERROR is sent to the player that caused the error or suffers from it.")
rule(509, "GAME_ERROR needs no answer.")
rule(511, "The referee sends GAME_ERROR when something goes wrong during a match.", decision=30)
field(522, MESSAGE, "error_code", "A game error has its code.", ERROR_CODE, decision=9)
field(523, MESSAGE, "error_description", "A game error gives the error's name.", text(1), decision=12)
field(527, MESSAGE, "retry_info.retry_count", "The retry details say which retry this is.", integer(0), decision=13)
field(528, MESSAGE, "retry_info.max_retries", "The retry details say how many there are.", integer(0), decision=13)
field(
    529,
    MESSAGE,
    "retry_info.next_retry_at",
    "The retry details say when the next one comes, if one does.",
    TIMESTAMP,
    required=False,
    decision=13,
    letter="a",
)
limit(529, "A retry comes 2 seconds after its failure.", decision=30, letter="b")
field(536, MESSAGE, "match_id", "A game error names the match.", MATCH_ID)
field(537, MESSAGE, "affected_player", "A game error names the player concerned.", PLAYER_ID, decision=13)
field(538, MESSAGE, "action_required", "A game error names the action that failed.", text(1), decision=13)
field(
    539,
    MESSAGE,
    "retry_info",
    "A game error tells of retries where there are any.",
    obj(),
    required=False,
    decision=13,
)
field(540, MESSAGE, "consequence", "A game error says what follows if nothing changes.", text(), decision=13)

# 4.11 Summary
rule(544, "The protocol has 18 message types.", otherwise=22)
rule(548, "REFEREE_REGISTER_REQUEST goes from a referee to the league and registers it.")
rule(549, "REFEREE_REGISTER_RESPONSE goes from the league to a referee and confirms its registration.")
rule(550, "LEAGUE_REGISTER_REQUEST goes from a player to the league and registers it.")
rule(551, "LEAGUE_REGISTER_RESPONSE goes from the league to a player and confirms its registration.")
rule(552, "ROUND_ANNOUNCEMENT goes from the league to the players and publishes a round.", decision=22)
rule(553, "ROUND_COMPLETED goes from the league to the players and ends a round.", decision=22)
rule(554, "LEAGUE_COMPLETED goes from the league to everybody and ends the league.")
rule(555, "GAME_INVITATION goes from a referee to a player and calls it to a match.")
rule(556, "GAME_JOIN_ACK goes from a player to a referee and confirms that it has come.")
rule(557, "CHOOSE_PARITY_CALL goes from a referee to a player and asks for its choice.")
rule(558, "CHOOSE_PARITY_RESPONSE goes from a player to a referee and gives its choice.")
rule(559, "GAME_OVER goes from a referee to the players and ends a match.")
rule(560, "MATCH_RESULT_REPORT goes from a referee to the league and reports a result.")
rule(561, "LEAGUE_STANDINGS_UPDATE goes from the league to the players and gives the new standings.", decision=25)
rule(562, "LEAGUE_ERROR goes from the league to an agent and tells of an error of the league.")
rule(563, "GAME_ERROR goes from a referee to a player and tells of an error in a match.")
rule(564, "LEAGUE_QUERY goes from a player or referee to the league and asks for information.", decision=29)
rule(565, "LEAGUE_QUERY_RESPONSE goes from the league to a player or referee and answers a query.")

# 4.12 Important rules
field(571, "*", "message_type", "Every message names its type.", text(1))
rule(572, "Messages of a game name their match_id.")
rule(573, "Messages of a player name their player_id.")
rule(576, "parity_choice is even or odd, in lower case, and nothing else.", decision=11)
rule(577, "A result's status is WIN, DRAW or TECHNICAL_LOSS, and nothing else.")
rule(578, "accept is true or false, a boolean and nothing else.")
rule(581, "All times are in ISO 8601.", decision=5)
rule(582, "A time has the form YYYY-MM-DDTHH:MM:SSZ.", decision=5)
