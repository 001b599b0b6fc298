"""For each check of a manager, a manager that fails it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from leaguekit.kit.manager import CHECKS
from tests.kit.mutants import (
    WRONG,
    Also,
    Faked,
    Json,
    Mutant,
    When,
    accepting,
    answering,
    dropping,
    ignoring,
    is_a,
    once,
    params_of,
    refusing,
    rpc_mutants,
    sending,
    value_at,
    with_value,
)

REFEREE, PLAYER = is_a("REFEREE_REGISTER_REQUEST"), is_a("LEAGUE_REGISTER_REQUEST")
QUERY, REPORT = is_a("LEAGUE_QUERY"), is_a("MATCH_RESULT_REPORT")
ANNOUNCEMENT, STANDINGS = is_a("ROUND_ANNOUNCEMENT"), is_a("LEAGUE_STANDINGS_UPDATE")
FIRST_ROUND = is_a("ROUND_ANNOUNCEMENT", round_id=1)
ASSIGNMENT = is_a("MATCH_ASSIGNMENT", round_id=1)
COMPLETED, END = is_a("ROUND_COMPLETED", round_id=1), is_a("LEAGUE_COMPLETED")
FORGED_AUTH = "tok-p01-made-by-nobody"
_SENT = {"round": FIRST_ROUND, "assign": ASSIGNMENT, "standings": STANDINGS, "completed": COMPLETED, "end": END}


def _first_answer(when: When, path: str, wrong: Any = WRONG) -> Mutant:
    """Change the first valid answer to a kind of request."""
    done: list[bool] = []

    def change(request: Any, answer: Any) -> Any:
        if done or not isinstance(request, dict) or not when(request) or value_at(answer, "result") is None:
            return answer
        done.append(True)
        return with_value(answer, f"result.{path}", wrong)

    return Mutant(change_answer=change)


def _old_rpc(when: When) -> Mutant:
    return Mutant(change_request=lambda request, _url: request | {"jsonrpc": "1.0"} if when(request) else request)


def _called(name: str) -> When:
    """Return a predicate: whether an agent registers under that name."""

    def holds(request: Json) -> bool:
        metas = [value_at(params_of(request), f"{role}_meta.display_name") for role in ("player", "referee")]
        return any(isinstance(one, str) and one.startswith(name) for one in metas)

    return holds


def _with_meta(role: str, **meta: Any) -> When:
    """Return a predicate: whether an agent registers with these values. ``...`` stands for an absent field."""

    def holds(request: Json) -> bool:
        said = value_at(params_of(request), f"{role}_meta")
        return isinstance(said, dict) and all(said.get(name, ...) == value for name, value in meta.items())

    return holds


def _a_query(**fields: Any) -> Callable[[Any], bool]:
    """Return a predicate: whether a query has these values. ``...`` stands for an absent field, __ for a dot."""

    def holds(request: Any) -> bool:
        params = params_of(request)
        if params.get("message_type") != "LEAGUE_QUERY" or request.get("method") != "league_query":
            return False
        return all(
            (name not in params) if value is ... else value_at(params, name.replace("__", ".")) == value
            for name, value in fields.items()
        )

    return holds


def _number(when: Callable[[Any], bool], code: int = 9) -> Mutant:
    return answering(when, "error.code", code)


def _nth_player(number: int, when: When) -> Mutant:
    """Do not send a message to one player. Players are numbered in the order of the announcements to them."""
    players: list[str] = []

    def drop(request: Json, url: str) -> Any:
        if ANNOUNCEMENT(request) and "player_A_endpoint" not in request["params"]["matches"][0] and url not in players:
            players.append(url)
        is_meant = when(request) and url in players and players.index(url) == number - 1
        return Faked(None, {}) if is_meant else request

    return Mutant(change_request=drop)


def _no_referee(when: When) -> Mutant:
    """Do not send a message to the referees."""
    referees: set[str] = set()

    def drop(request: Json, url: str) -> Any:
        if ANNOUNCEMENT(request) and "player_A_endpoint" in request["params"]["matches"][0]:
            referees.add(url)
        return Faked(None, {}) if when(request) and url in referees else request

    return Mutant(change_request=drop)


def _in_first_match(**fields: Any) -> Callable[[Json], list[Json]]:
    return lambda params: [params["matches"][0] | fields, *params["matches"][1:]]


def _same_player(params: Json) -> list[Json]:
    one, *others = params["matches"]
    return [one, *(match | {"player_A_id": one["player_A_id"]} for match in others)]


def _other_pairs(params: Json) -> list[Json]:
    one, other = params["matches"]
    return [one | {"player_B_id": other["player_B_id"]}, other | {"player_B_id": one["player_B_id"]}]


def _is_copy(request: Json) -> bool:
    return FIRST_ROUND(request) and "player_A_endpoint" in request["params"]["matches"][0]


def ack_of(request: Json) -> Json:
    params = request["params"]
    shared = {name: params[name] for name in ("protocol", "timestamp", "match_id", "attempt")}
    return shared | {"message_type": "MATCH_ASSIGNMENT_ACK", "status": "ACCEPTED"}


def _forgetful() -> Mutant:
    """Do not assign the first match, as if it had been assigned."""
    is_first = is_a("MATCH_ASSIGNMENT", match_id="R1M1")
    return Mutant(change_request=lambda request, _url: Faked(None, ack_of(request)) if is_first(request) else request)


def _leaking() -> Mutant:
    """Send referees the token of a player."""
    token: list[str] = []

    def learn(request: Any, answer: Any) -> Any:
        if isinstance(request, dict) and PLAYER(request) and value_at(answer, "result.auth_token"):
            token.append(value_at(answer, "result.auth_token"))
        return answer

    def show(request: Json, _url: str) -> Json:
        return with_value(request, "params.players_token", token[0]) if ASSIGNMENT(request) else request

    return Mutant(change_answer=learn, change_request=show)


def _on_report(
    number: int, answer_with: Callable[[Any], Any], match: str | None = None, *, late: bool = False
) -> Mutant:
    """Change the answer to one refused report: the first or the last with that number."""
    over, done = [late], [False]

    def sent(request: Json, _url: str) -> Json:
        if END(request):
            over[0] = False
        return request

    def change(request: Any, answer: Any) -> Any:
        is_meant = isinstance(request, dict) and REPORT(request) and value_at(answer, "error.code") == number
        if not is_meant or over[0] or done[0] or match not in (None, request["params"].get("match_id")):
            return answer
        done[0] = True
        return answer_with(answer)

    return Mutant(change_request=sent, change_answer=change)


def _taken(answer: Any) -> Any:
    return {"jsonrpc": "2.0", "result": {}, "id": answer["id"]}


def _refused_report(match: str) -> Mutant:
    """Count a report, but answer that it failed."""

    def change(request: Any, answer: Any) -> Any:
        is_meant = isinstance(request, dict) and REPORT(request) and request["params"].get("match_id") == match
        if not is_meant or value_at(answer, "result") is None:
            return answer
        return {"jsonrpc": "2.0", "error": {"code": -32603, "message": "no"}, "id": answer["id"]}

    return Mutant(change_answer=change)


def _slow_standings() -> Mutant:
    """Send the first standings to each player after six seconds."""
    informed: set[str] = set()

    async def wait(request: Json, url: str) -> Json:
        if STANDINGS(request) and url not in informed:
            informed.add(url)
            await asyncio.sleep(6)
        return request

    return Mutant(change_request=wait)


def _later_standings(instead: Callable[[Json], Any]) -> Mutant:
    """Change the standings of the first round that are not the first for a player."""
    informed: set[str] = set()

    def change(request: Json, url: str) -> Any:
        if not is_a("LEAGUE_STANDINGS_UPDATE", round_id=1)(request):
            return request
        if url not in informed:
            informed.add(url)
            return request
        return instead(request)

    return Mutant(change_request=change)


def _rows(name: str, change: Callable[[list[Json]], list[Json]]) -> Callable[[Json], list[Json]]:
    return lambda params: change(params[name])


def _more_points(rows: list[Json]) -> list[Json]:
    return [rows[0] | {"points": rows[0]["points"] + 3}, *rows[1:]]


def _swapped(rows: list[Json]) -> list[Json]:
    """Return the rows with the two in the middle exchanged."""
    first, one, other, last = rows
    return [first, other | {"rank": one["rank"]}, one | {"rank": other["rank"]}, last]


def _talkative_end() -> Mutant:
    """Send a player the standings after the end."""
    latest: dict[str, Json] = {}

    def change(request: Json, url: str) -> Any:
        if STANDINGS(request):
            latest[url] = request
        return Also(request, [(url, latest[url])], 0.5) if END(request) and url in latest else request

    return Mutant(change_request=change)


def _after_end(mutant: Mutant) -> Mutant:
    """Apply a change only after the end of the league."""
    over: list[bool] = []

    def sent(request: Json, _url: str) -> Json:
        if END(request):
            over.append(True)
        return request

    return Mutant(
        change_request=sent,
        change_answer=lambda request, answer: mutant.change_answer(request, answer) if over else answer,
    )


MUTANTS: dict[str, Callable[[], Mutant]] = {
    # Fields of the answers to the first registrations, and of all messages to agents.
    **{
        check.id: partial(_first_answer, when, path)
        for check in CHECKS
        for area, _, path in [check.id.partition(".")]
        for when in [{"referee": REFEREE, "player": PLAYER, "report": REPORT}.get(area)]
        if when is not None
    },
    **{
        check.id: partial(sending, _SENT[area], path)
        for check in CHECKS
        for area, _, path in [check.id.partition(".")]
        if area in _SENT
    },
    **{f"{area}.request": partial(_old_rpc, when) for area, when in _SENT.items()},
    **{f"{area}.sender": partial(sending, when, "sender", "referee:REF01") for area, when in _SENT.items()},
    **rpc_mutants(QUERY),
    "rpc.large": lambda: accepting(lambda request: isinstance(params_of(request).get("from_a_later_version"), str)),
    "reach.ping": lambda: ignoring(lambda request: isinstance(request, dict) and request.get("method") == "ping"),
    "referee.answer": lambda: refusing(once(REFEREE)),
    "referee.status": lambda: _first_answer(REFEREE, "status", "MAYBE"),
    "referee.others": lambda: answering(_called("Kit referee 2"), "result.referee_id", "REF01"),
    "player.answer": lambda: refusing(once(PLAYER)),
    "player.status": lambda: _first_answer(PLAYER, "status", "MAYBE"),
    "player.others": lambda: answering(_called("Kit player 2"), "result.player_id", "P01"),
    "player.repeat": lambda: Mutant(change_answer=_second_time("Kit player 3", "P77")),
    "player.return": lambda: answering(
        lambda request: PLAYER(request) and "auth_token" in request["params"], "result.player_id", "P77"
    ),
    "refused.game": lambda: accepting(_with_meta("player", game_types=["chess"])),
    "refused.referees_game": lambda: accepting(_with_meta("referee", game_types=["chess"])),
    "refused.endpoint": lambda: accepting(_with_meta("player", contact_endpoint="http://127.0.0.1:9/mcp")),
    "refused.version": lambda: accepting(_with_meta("player", protocol_version="1.0.0")),
    "refused.long_name": lambda: accepting(_with_meta("player", display_name="x" * 51)),
    "refused.capacity": lambda: accepting(_with_meta("referee", max_concurrent_matches=11)),
    "refused.url": lambda: accepting(_with_meta("player", contact_endpoint="here")),
    "refused.reason": lambda: answering(_with_meta("player", game_types=["chess"]), "result.reason", None),
    "refused.missing": lambda: accepting(_with_meta("player", display_name=...)),
    "refused.duplicate": lambda: Mutant(
        change_answer=lambda _request, answer: (
            with_value(answer, "error.code", 9) if value_at(answer, "error.code") == 2002 else answer
        )
    ),
    "refused.suggestion": lambda: answering(PLAYER, "error.data.suggestion", ...),
    "token.wrong": lambda: accepting(_a_query(auth_token=FORGED_AUTH)),
    "token.wrong_number": lambda: _number(_a_query(auth_token=FORGED_AUTH)),
    "token.wrong_code": lambda: answering(_a_query(auth_token=FORGED_AUTH), "error.data.error_code", "E001"),
    "token.error": lambda: answering(_a_query(auth_token=FORGED_AUTH), "error.data.original_message_type", ...),
    "token.missing": lambda: accepting(_a_query(auth_token=...)),
    "token.missing_code": lambda: answering(_a_query(auth_token=...), "error.data.error_code", "E012"),
    "token.other": lambda: accepting(_a_query(sender="player:P02")),
    "token.league": lambda: _number(_a_query(league_id="league_of_others")),
    "token.type": lambda: _number(_a_query(query_type="GET_RICH")),
    "token.unknown_player": lambda: answering(
        _a_query(query_params__player_id="P999999"), "result.error.error_code", "E001"
    ),
    "token.no_parameter": lambda: answering(
        _a_query(query_type="GET_PLAYER_STATS", query_params__player_id=None), "result.error.error_code", "E001"
    ),
    "start.fourth": lambda: refusing(_called("Kit player 4")),
    "start.announced": lambda: dropping(ANNOUNCEMENT),
    "round.players": lambda: _nth_player(4, FIRST_ROUND),
    "round.referees": lambda: _no_referee(FIRST_ROUND),
    "round.numbers": lambda: sending(FIRST_ROUND, "matches", _in_first_match(match_id="R7M1")),
    "round.pairs": lambda: sending(FIRST_ROUND, "matches", _same_player),
    "round.whole": lambda: sending(FIRST_ROUND, "matches", lambda params: params["matches"][:1]),
    "round.endpoints": lambda: sending(
        FIRST_ROUND, "matches", _in_first_match(referee_endpoint="http://127.0.0.1:9/mcp")
    ),
    "round.copy": lambda: sending(_is_copy, "matches[].player_A_endpoint", "http://127.0.0.1:9/mcp"),
    "late.player": lambda: answering(_called("Kit latecomer"), "result.status", "OK"),
    "late.code": lambda: answering(_called("Kit latecomer"), "result.error_code", "E020"),
    "late.referee": lambda: answering(_called("Kit late referee"), "result.status", "OK"),
    "assign.comes": _forgetful,
    "assign.tokens": _leaking,
    "assign.lead": lambda: Mutant(announce_lead=5.0),
    "report.wrong_token": lambda: accepting(is_a("MATCH_RESULT_REPORT", auth_token=FORGED_AUTH)),
    "report.no_token": lambda: accepting(lambda request: REPORT(request) and "auth_token" not in request["params"]),
    "report.unknown": lambda: accepting(is_a("MATCH_RESULT_REPORT", match_id="R99M99")),
    "report.other_league": lambda: accepting(is_a("MATCH_RESULT_REPORT", league_id="league_of_others")),
    "report.no_result": lambda: accepting(lambda request: REPORT(request) and "result" not in request["params"]),
    "report.wrong_token_number": lambda: _number(is_a("MATCH_RESULT_REPORT", auth_token=FORGED_AUTH)),
    "report.unknown_number": lambda: _number(is_a("MATCH_RESULT_REPORT", match_id="R99M99")),
    "report.no_result_number": lambda: _number(lambda request: REPORT(request) and "result" not in request["params"]),
    "report.no_token_code": lambda: answering(
        lambda request: REPORT(request) and "auth_token" not in request["params"], "error.data.error_code", "E012"
    ),
    "report.player": lambda: accepting(
        lambda request: REPORT(request) and request["params"]["sender"].startswith("player:")
    ),
    "report.other_referee": lambda: _on_report(5002, _taken, "R1M1"),
    "report.contradiction": lambda: accepting(
        lambda request: REPORT(request) and [*(value_at(request, "params.result.score") or {}).values()] == [3, 3]
    ),
    "report.accepted": lambda: _refused_report("R1M1"),
    "report.duplicate": lambda: _on_report(5003, _taken),
    "report.duplicate_number": lambda: _on_report(5003, lambda answer: with_value(answer, "error.code", 9)),
    "report.duplicate_data": lambda: _on_report(
        5003, lambda answer: with_value(answer, "error.data.previous_report_time", ...)
    ),
    "standings.soon": _slow_standings,
    "standings.rest": lambda: _refused_report("R1M2"),
    "standings.players": lambda: _later_standings(lambda _request: Faked(None, {})),
    "standings.rows": lambda: sending(STANDINGS, "standings", _rows("standings", lambda rows: rows[:-1])),
    "standings.right": lambda: sending(STANDINGS, "standings", _rows("standings", _more_points)),
    "standings.order": lambda: sending(STANDINGS, "standings", _rows("standings", lambda rows: rows[::-1])),
    "completed.players": lambda: _nth_player(4, COMPLETED),
    "completed.referees": lambda: _no_referee(COMPLETED),
    "completed.count": lambda: sending(COMPLETED, "matches_completed", 7),
    "completed.after_standings": lambda: _later_standings(lambda request: Faked(request, {}, 0.5)),
    "query.standings": lambda: answering(_a_query(query_type="GET_STANDINGS"), "result.standings", []),
    "query.success": lambda: answering(_a_query(query_type="GET_STANDINGS"), "result.success", "yes"),
    "query.current_round": lambda: answering(_a_query(query_type="GET_STANDINGS"), "result.current_round", ...),
    "query.schedule": lambda: answering(_a_query(query_type="GET_SCHEDULE"), "result.data", {"schedule": []}),
    "query.next_match": lambda: answering(
        _a_query(query_type="GET_NEXT_MATCH"), "result.data.next_match.opponent_id", "P01"
    ),
    "query.player_stats": lambda: answering(
        _a_query(query_type="GET_PLAYER_STATS"), "result.data.player_stats.points", 77
    ),
    "query.status": lambda: answering(_a_query(query_type="GET_STATUS"), "result.data.status.state", "RUNNING"),
    "query.referee": lambda: refusing(
        lambda request: (
            QUERY(request) and request["params"]["sender"].startswith("referee:")
            if isinstance(request, dict)
            else False
        )
    ),
    "league.rounds": lambda: dropping(is_a("ROUND_ANNOUNCEMENT", round_id=3)),
    "league.pairs": lambda: sending(is_a("ROUND_ANNOUNCEMENT", round_id=3), "matches", _other_pairs),
    "league.last_round": lambda: sending(is_a("ROUND_COMPLETED", round_id=3), "next_round_id", 4),
    "end.players": lambda: _nth_player(4, END),
    "end.referees": lambda: _no_referee(END),
    "end.rows": lambda: sending(END, "final_standings", _rows("final_standings", lambda rows: rows[:-1])),
    "end.right": lambda: sending(END, "final_standings", _rows("final_standings", _more_points)),
    "end.order": lambda: sending(END, "final_standings", _rows("final_standings", lambda rows: rows[::-1])),
    "end.ties": lambda: sending(END, "final_standings", _rows("final_standings", _swapped)),
    "end.champion": lambda: sending(END, "champion.player_id", "P02"),
    "end.last": _talkative_end,
    "end.report": lambda: _on_report(5003, _taken, late=True),
    "end.query": lambda: _after_end(refusing(lambda request: isinstance(request, dict) and QUERY(request))),
}


def _second_time(name: str, player_id: str) -> Callable[[Any, Any], Any]:
    """Give another id to an agent that registers a second time without a token."""
    seen: list[bool] = []

    def change(request: Any, answer: Any) -> Any:
        if not isinstance(request, dict) or not _called(name)(request) or value_at(answer, "result") is None:
            return answer
        seen.append(True)
        return with_value(answer, "result.player_id", player_id) if len(seen) == 2 else answer

    return change
