"""Registration: ids, agents that come back, and the words in which others are refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from leaguekit.league import commands, queries
from leaguekit.league.commands import Rejected
from leaguekit.league.endpoints import is_same_host, is_same_server, parse_endpoint
from leaguekit.league.events import PlayerRegistered
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError
from tests.league.play import Play


def _rejected(play: Play, role: str, number: int, **more: Any) -> Rejected:
    """The refusal of an applicant, which has changed nothing."""
    before = play.league.digest()
    applicant = getattr(play, f"{role}_applicant")(number, **more)
    admit = commands.admit_player if role == "player" else commands.admit_referee
    with pytest.raises(Rejected) as caught:
        admit(play.league, applicant, play.now)
    assert play.league.digest() == before
    return caught.value


@pytest.mark.proves("000-L0297", "003-L0150b", "002-L0047", "003-L0018")
def test_players_get_ids_in_order() -> None:
    play = Play()
    assert [play.player(number) for number in range(1, 4)] == ["P01", "P02", "P03"]


@pytest.mark.proves("000-L0187", "003-L0145b", "002-L0040")
def test_referees_get_ids_in_order() -> None:
    play = Play()
    assert [play.referee(number) for number in range(1, 4)] == ["REF01", "REF02", "REF03"]


@pytest.mark.settles("003-L0065")
def test_the_hundredth_player_is_p100() -> None:
    assert Play(players=99).player(100) == "P100"


@pytest.mark.proves("003-L0046", "003-L0056", "003-L0057")
def test_no_two_agents_have_the_same_id() -> None:
    play = Play(players=5, referees=3)
    assert len(set(play.league.players) | set(play.league.referees)) == 8


def test_a_wanted_id_is_given_if_it_is_free_and_others_go_around_it() -> None:
    play = Play()
    assert play.player(1, wanted_id="P02") == "P02"
    assert play.player(2) == "P01"
    assert play.player(3, wanted_id="P02") == "P03"


@pytest.mark.proves("001-L0355", "001-L0356", "001-L0357", "001-L1930", "003-L0191", "003-L0198a")
def test_an_accepted_player_is_remembered_with_its_endpoint_and_its_token() -> None:
    play = Play()
    name, token = play.enter(play.player_applicant(1))
    player = play.league.players[name]
    assert player.state == "REGISTERED"
    assert player.meta.contact_endpoint == "http://localhost:8101/mcp"
    assert play.league.agent_with(tokens.verifier(token)) is player
    assert player.key == tokens.signing_key(token)


@pytest.mark.proves("001-L0228", "001-L0229", "001-L0230", "003-L0145c")
def test_an_accepted_referee_is_remembered_and_free() -> None:
    play = Play()
    name, token = play.enter(play.referee_applicant(1))
    referee = play.league.referees[name]
    assert (referee.state, referee.free, referee.capacity) == ("REGISTERED", 1, 1)
    assert play.league.agent_with(tokens.verifier(token)) is referee
    assert referee.key == tokens.signing_key(token)


def test_the_log_never_holds_a_token() -> None:
    play = Play()
    _, token = play.enter(play.player_applicant(1))
    assert not any(token.encode() in line for line in play.log)


def test_an_unknown_token_is_nobodys() -> None:
    assert Play(players=1).league.agent_with(tokens.verifier("tok-p01-guessed")) is None


@pytest.mark.proves("000-L0303", "000-L1231", "000-L0256", "000-L0313")
def test_a_player_that_comes_after_the_start_is_refused() -> None:
    refusal = _rejected(Play(players=2, referees=1).begin(), "player", 3)
    assert (refusal.reason, refusal.code, refusal.number) == (
        "Registration closed - league already started",
        "E019",
        None,
    )


def test_a_player_that_comes_after_the_end_is_refused_alike() -> None:
    play = Play(players=2, referees=1)
    play.begin().play_all()
    assert play.league.state == "LEAGUE_COMPLETED"
    assert _rejected(play, "player", 3).code == "E019"


@pytest.mark.proves("000-L0143", "003-L0028", "004-L0011", "000-L0194")
def test_a_referee_that_comes_after_the_start_is_refused_unless_the_operator_adds_it() -> None:
    play = Play(players=2, referees=1).begin()
    refusal = _rejected(play, "referee", 2)
    assert (refusal.reason, refusal.code) == ("League already started", "E019")
    assert play.referee(2, added_by_operator=True) == "REF02"
    assert play.league.referees["REF02"].state == "ACTIVE"


@pytest.mark.proves("000-L0304", "000-L0240")
def test_a_player_must_know_the_leagues_game() -> None:
    refusal = _rejected(Play(), "player", 1, meta={"game_types": ["tic_tac_toe"]})
    assert (refusal.reason, refusal.code, refusal.number) == (
        "Unsupported game type: this league plays even_odd",
        "E049",
        2004,
    )


def test_other_games_of_an_agent_do_not_matter() -> None:
    assert Play().player(1, meta={"game_types": ["tic_tac_toe", "even_odd"]}) == "P01"


@pytest.mark.proves("000-L0194")
def test_a_referee_must_know_the_leagues_game() -> None:
    refusal = _rejected(Play(game_type="tic_tac_toe"), "referee", 1)
    assert refusal.reason.startswith("Unsupported game type")
    assert refusal.number == 1003


@pytest.mark.proves("000-L0306", "003-L0288", "003-L0270b", "000-L1230")
@pytest.mark.parametrize("version", ["1.9.9", "3.0.0", "2.1.0-beta"])
@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_agent_that_speaks_another_version_is_refused(role: str, version: str) -> None:
    refusal = _rejected(Play(), role, 1, meta={"protocol_version": version})
    assert refusal.reason.startswith("Protocol version mismatch")
    assert refusal.code == "E018"


@pytest.mark.proves("003-L0286", "003-L0287")
@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.7.3"])
def test_any_version_from_the_oldest_on_is_taken(version: str) -> None:
    assert Play().player(1, meta={"protocol_version": version}) == "P01"


@pytest.mark.proves("000-L0307", "001-L1546")
def test_a_full_league_takes_no_more_players_and_says_how_many_it_has() -> None:
    refusal = _rejected(Play(players=2, max_players=2), "player", 3)
    assert refusal.reason.startswith("Maximum players reached")
    assert (refusal.code, refusal.number) == ("E020", 2001)
    assert refusal.data == {"max_players": 2, "current_players": 2}


@pytest.mark.proves("001-L0191")
def test_a_league_with_all_its_referees_takes_no_more_and_says_how_many_it_has() -> None:
    refusal = _rejected(Play(referees=2, max_referees=2), "referee", 3)
    assert refusal.reason.startswith("Maximum referees already registered")
    assert (refusal.code, refusal.number) == ("E020", 1001)
    assert refusal.data == {"max_referees": 2, "current_referees": 2}


@pytest.mark.proves("001-L0233", "001-L0361")
@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_refused_agent_changes_nothing(role: str) -> None:
    _rejected(Play(), role, 1, meta={"game_types": ["go"]})


@pytest.mark.proves("000-L0305", "000-L0194")
def test_what_the_shell_finds_unreachable_is_refused_in_the_documents_words() -> None:
    player, referee = Rejected("player", "E048"), Rejected("referee", "E048", "no answer in 2 s")
    assert (player.reason, player.number) == ("Contact endpoint unreachable", 2003)
    assert (referee.reason, referee.number) == ("Endpoint unreachable: no answer in 2 s", 1002)
    assert str(player) == "E048 Contact endpoint unreachable"


@pytest.mark.proves("001-L0256b", "001-L0330", "001-L0343", "001-L0344", "001-L1953")
def test_a_name_that_another_player_has_is_an_error_with_advice() -> None:
    play = Play(players=1)
    with pytest.raises(ProtocolError) as caught:
        play.player(2, meta={"display_name": "Agent 1"})
    assert caught.value.code == "E047"
    assert caught.value.data == {"display_name": "Agent 1", "suggestion": "Choose a different display_name"}


def test_referees_may_share_a_name() -> None:
    play = Play(referees=2)
    assert len({referee.meta.display_name for referee in play.league.referees.values()}) == 1


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://localhost:8101/mcp",
        "http://127.0.0.1:8101/mcp",
        "http://[::1]:8101/mcp",
        "http://LOCALHOST.:8101/mcp",
        "http://localhost:8001/mcp",
        "http://localhost:8000/mcp",
        "http://127.0.0.1:8000/elsewhere",
        "http://localhost:port/mcp",
        "http://[::1/mcp",
        "http://:80/mcp",
    ],
)
@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_endpoint_that_is_anothers_the_managers_or_none_at_all_is_refused(role: str, endpoint: str) -> None:
    play = Play(players=1, referees=1)
    refusal = _rejected(play, role, 2, meta={"contact_endpoint": endpoint})
    is_anothers = ":8101" in endpoint.lower() or ":8001" in endpoint
    assert refusal.code == "E048"
    assert ("has already registered with" in refusal.reason) is is_anothers


@pytest.mark.parametrize(("role", "remedy"), [("player", "league withdraw P01"), ("referee", "only your program")])
def test_an_endpoint_that_is_anothers_is_refused_with_what_can_be_done(role: str, remedy: str) -> None:
    play = Play(players=1, referees=1)
    owner = play.league.players["P01"] if role == "player" else play.league.referees["REF01"]
    refusal = _rejected(play, "player", 2, meta={"contact_endpoint": owner.meta.contact_endpoint})
    assert f"{owner.id} ({owner.meta.display_name!r})" in refusal.reason
    assert remedy in refusal.reason


def test_only_a_player_that_nobody_let_in_gives_its_endpoint_up_and_only_before_the_start() -> None:
    play = Play(players=1, referees=1)
    endpoint = {"contact_endpoint": play.league.players["P01"].meta.contact_endpoint}

    def contested_owner(role: Any = "player", **more: Any) -> str | None:
        applicant = getattr(play, f"{role}_applicant")(9, **{"meta": endpoint} | more)
        return commands.contested_owner(play.league, applicant, role, play.now)

    assert contested_owner() == contested_owner("referee") == "P01"
    assert contested_owner(meta={"contact_endpoint": play.league.referees["REF01"].meta.contact_endpoint}) is None
    assert contested_owner(meta={}) is None
    # Its own repeat, and one who comes back with a token.
    applicant = play.player_applicant(3)
    play.enter(applicant)
    assert commands.contested_owner(play.league, applicant, "player", play.now) is None
    assert contested_owner(returning_id="P01") is None
    name = play.player(2, added_by_operator=True)
    assert contested_owner(meta={"contact_endpoint": play.league.players[name].meta.contact_endpoint}) is None
    play.start()
    assert contested_owner() is None


ALIASES = [
    "http://[::ffff:127.0.0.1]:{port}/mcp",
    "http://[::ffff:7f00:1]:{port}/mcp",
    "http://[0:0:0:0:0:0:0:1]:{port}/mcp",
    "http://127.0.0.2:{port}/mcp",
    "http://１２７.0.0.1:{port}/mcp",
    "http://127.0.0.1:{port}/mcp/",
    "http://127.0.0.1:{port}//mcp",
    "http://127.0.0.1:{port}/%6dcp",
    "http://127.0.0.1:{port}/x/.././mcp",
    "http://127.0.0.1:{port}/mcp#x",
    "https://127.0.0.1:{port}/mcp",
]


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_endpoint_of_another_or_of_the_manager_is_known_however_it_is_written(role: str, alias: str) -> None:
    play = Play(players=1, referees=1)
    for port in (8101, 8001, 8000):
        refusal = _rejected(play, role, 2, meta={"contact_endpoint": alias.format(port=port)})
        assert refusal.code == "E048"
    assert getattr(play, role)(2, meta={"contact_endpoint": alias.format(port=8109)})


def test_an_agent_may_write_its_own_endpoint_in_another_way() -> None:
    play = Play(players=1, referees=1)
    moved = play.player_applicant(1, returning_id="P01", meta={"contact_endpoint": "http://127.0.0.1:8101/mcp/"})
    assert play.enter(moved)[0] == "P01"


def test_what_is_behind_the_question_mark_tells_agents_of_one_server_apart() -> None:
    play = Play()
    for number, seat in enumerate(("a", "b"), 1):
        play.player(number, meta={"contact_endpoint": f"http://localhost:8800/mcp?at={seat}"})
    refusal = _rejected(play, "player", 3, meta={"contact_endpoint": "http://localhost:8800/mcp?at=%61"})
    assert refusal.code == "E048"


def test_a_log_in_which_two_agents_are_at_one_place_is_folded_and_they_may_return_there() -> None:
    # Earlier releases did not see that these are one server.
    play = Play(players=2, referees=1)
    (event,) = commands.register_player(
        play.league,
        play.player_applicant(2, returning_id="P02", meta={"contact_endpoint": "http://localhost:8109/mcp"}),
        verifier=b"2",
        key=b"2",
        at=play.now,
    )
    assert isinstance(event, PlayerRegistered)
    alias = {"contact_endpoint": "http://127.0.0.2:8101/mcp/"}
    play.do([structs.replace(event, meta=structs.replace(event.meta, **alias))])
    assert play.enter(play.player_applicant(2, returning_id="P02", meta=alias))[0] == "P02"
    assert play.enter(play.player_applicant(1, returning_id="P01"))[0] == "P01"
    away = {"contact_endpoint": "http://localhost:8110/mcp"}
    assert play.enter(play.player_applicant(1, returning_id="P01", meta=away))[0] == "P01"
    assert play.enter(play.player_applicant(2, returning_id="P02", meta=alias))[0] == "P02"


def test_places_are_told_apart_by_host_port_and_path() -> None:
    assert str(parse_endpoint("https://Example.org/a?b=1")) == "example.org:443/a?b=1"
    assert str(parse_endpoint("http://example.org")) == "example.org:80/"
    assert parse_endpoint("ftp://example.org") is None
    assert is_same_host("http://127.0.0.1:1/", "http://localhost:2/")
    assert not is_same_host("http://127.0.0.1:1/", "http://10.0.0.1:1/")
    assert not is_same_host("http://127.0.0.1:1/", "http://:1/")
    assert not is_same_server("http://:1/", "http://localhost:1/")
    assert not is_same_server("http://10.0.0.1:1/", "http://10.0.0.2:1/")
    assert is_same_server("http://bücher.example/a", "http://xn--bcher-kva.example./b")
    assert is_same_host("http://[2001:DB8::0:1]:1/", "http://[2001:db8::1]:2/")


def test_an_agent_with_its_token_gets_its_own_id_and_the_old_token_is_void() -> None:
    play = Play(players=2, referees=1)
    _, first = play.enter(play.player_applicant(3))
    meta = {"contact_endpoint": "http://localhost:9999/mcp", "version": "1.0.1"}
    name, second = play.enter(play.player_applicant(3, returning_id="P03", meta=meta))
    assert name == "P03"
    assert play.league.agent_with(tokens.verifier(first)) is None
    assert play.league.agent_with(tokens.verifier(second)) is play.league.players["P03"]
    assert play.league.players["P03"].meta.version == "1.0.1"
    # Its former endpoint is free again.
    assert play.player(4, meta={"contact_endpoint": "http://localhost:8103/mcp"}) == "P04"


def test_an_agent_with_its_token_may_come_back_at_any_time() -> None:
    play = Play(players=2, referees=1).begin()
    assert play.enter(play.player_applicant(1, returning_id="P01"))[0] == "P01"
    assert play.league.players["P01"].state == "ACTIVE"
    play.play_all()
    assert play.enter(play.player_applicant(1, returning_id="P01"))[0] == "P01"
    assert play.league.players["P01"].state == "SHUTDOWN"


def test_a_referee_with_its_token_may_come_back_and_is_no_longer_lost() -> None:
    play = Play(players=2, referees=1).begin()
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert play.league.referees["REF01"].state == "SUSPENDED"
    meta = {"contact_endpoint": "http://localhost:9001/mcp"}
    assert play.enter(play.referee_applicant(1, returning_id="REF01", meta=meta))[0] == "REF01"
    assert (play.league.referees["REF01"].lost, play.league.referees["REF01"].state) == (False, "ACTIVE")


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_token_moves_an_agent_to_another_port_of_its_host_at_most(role: str) -> None:
    play = Play(players=1, referees=1)
    own = "P01" if role == "player" else "REF01"
    meta = {"contact_endpoint": "http://10.0.0.7:8101/mcp"}
    refusal = _rejected(play, role, 1, returning_id=own, may_be_referee=False, meta=meta)
    assert (refusal.code, refusal.number) == ("E058", None)
    assert "its host" in refusal.reason


@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_agent_at_a_server_of_the_host_moves_with_the_host(role: str) -> None:
    play = Play(players=2, referees=1).begin()
    own = "P01" if role == "player" else "REF01"
    make = play.player_applicant if role == "player" else play.referee_applicant
    meta = {"contact_endpoint": "http://10.0.0.7:8101/mcp"}
    applicant = make(1, returning_id=own, may_be_referee=False, is_at_own_server=True, meta=meta)
    assert play.enter(applicant)[0] == own


def test_a_referee_with_its_token_and_the_code_may_move_to_another_host() -> None:
    play = Play(players=2, referees=1).begin()
    meta = {"contact_endpoint": "http://10.0.0.7:8101/mcp"}
    assert play.enter(play.referee_applicant(1, returning_id="REF01", meta=meta))[0] == "REF01"
    assert play.league.referees["REF01"].meta.contact_endpoint == meta["contact_endpoint"]


def test_a_returning_player_may_not_take_anothers_name() -> None:
    play = Play(players=2)
    with pytest.raises(ProtocolError, match="E047"):
        play.enter(play.player_applicant(1, returning_id="P01", meta={"display_name": "Agent 2"}))
    play.enter(play.player_applicant(1, returning_id="P01", meta={"display_name": "Agent One"}))
    assert queries.player_stats(play.league, "P01").display_name == "Agent One"


def test_a_referees_token_makes_nobody_a_player() -> None:
    assert Play(players=1, referees=1).player(2, returning_id="REF01") == "P02"


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_registration_repeated_to_the_letter_gets_the_same_id(role: str) -> None:
    play = Play()
    applicant = getattr(play, f"{role}_applicant")(1)
    first, lost = play.enter(applicant)
    second, token = play.enter(applicant)
    assert (first == second, len(play.league.verifiers)) == (True, 1)
    assert play.league.agent_with(tokens.verifier(lost)) is None
    assert play.league.agent_with(tokens.verifier(token)) is not None


SENT = {"conversation_id": "conv-1", "timestamp": "2025-01-15T10:00:00Z", "sender": "player:a", "address": "10.0.0.7"}


@pytest.mark.parametrize(
    "change",
    [
        {"conversation_id": "conv-other"},
        {"timestamp": "2025-01-15T11:00:00Z"},
        {"meta": {"version": "1.0.1"}},
        {"sender": "player:b"},
        {"address": "10.0.0.8"},
    ],
)
def test_a_registration_that_differs_in_anything_is_no_repeat(change: dict[str, Any]) -> None:
    play = Play()
    play.player(1, **SENT)
    with pytest.raises(ProtocolError, match="E047"):
        play.player(1, **SENT | change)
    assert play.player(1, **SENT) == "P01"


def test_a_repeat_is_known_for_ten_minutes() -> None:
    play = Play()
    applicant = play.player_applicant(1, **SENT)
    play.enter(applicant)
    at = times.parse_timestamp(play.league.players["P01"].registered.at)
    assert commands.admit_player(play.league, applicant, times.format_timestamp(at + timedelta(minutes=10))) == "P01"
    # The clock of the manager may have been set back.
    assert commands.admit_player(play.league, applicant, times.format_timestamp(at - timedelta(seconds=5))) == "P01"
    with pytest.raises(ProtocolError, match="E047"):
        commands.admit_player(play.league, applicant, times.format_timestamp(at + timedelta(seconds=601)))


def test_a_registration_of_an_older_log_has_no_repeat() -> None:
    play = Play()
    play.player(1, **SENT | {"sender": "", "address": ""})
    assert b"10.0.0.7" not in play.log[-1]
    with pytest.raises(ProtocolError, match="E047"):
        play.player(1, **SENT)


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_repeat_is_known_after_the_start_too_but_not_from_who_has_had_the_answer(role: str) -> None:
    play = Play(players=1 if role == "player" else 2, referees=1 if role == "player" else 0)
    applicant = getattr(play, f"{role}_applicant")(2)
    name, _ = play.enter(applicant)
    assert play.enter(applicant)[0] == name
    play.begin()
    assert play.enter(applicant)[0] == name
    with pytest.raises(Rejected, match="E019"):
        play.enter(applicant._replace(claimed_id=name))


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_late_copy_of_a_registration_does_not_void_the_token_of_who_has_had_the_answer(role: str) -> None:
    play = Play(players=1 if role == "player" else 2, referees=1 if role == "player" else 0)
    applicant = getattr(play, f"{role}_applicant")(2)
    name, token = play.enter(applicant)
    with pytest.raises((Rejected, ProtocolError), match=r"E04[78]"):
        play.enter(applicant._replace(claimed_id=name))
    assert play.league.agent_with(tokens.verifier(token)) is not None
    # One that says that it is another has not heard who it is here.
    assert play.enter(applicant._replace(claimed_id="P77"))[0] == name


def test_a_full_league_still_takes_a_repeat() -> None:
    play = Play(max_players=2)
    applicant = play.player_applicant(1)
    play.enter(applicant)
    play.player(2)
    assert play.enter(applicant)[0] == "P01"


def test_who_has_left_does_not_come_back() -> None:
    play = Play(players=3, referees=1)
    play.do(commands.withdraw(play.league, "P01", "ill", play.now))
    refusal = _rejected(play, "player", 1, returning_id="P01")
    assert (refusal.code, refusal.reason) == ("E058", "This player has left the league: ill")


def test_who_leaves_before_the_start_leaves_name_endpoint_and_place_to_others() -> None:
    play = Play(players=2, referees=1, max_players=2)
    play.do(commands.disqualify(play.league, "P01", "cheated", play.now))
    assert list(play.league.table.rows) == ["P02"]
    assert play.player(1) == "P03"
    play.begin()
    assert play.match("R1M1").players == ("P02", "P03")
    assert play.league.players["P01"].state == "SHUTDOWN"


def test_a_referee_whose_name_has_a_number_gets_the_id_with_that_number_if_it_is_free() -> None:
    play = Play()
    # The referees of `league host` and `league run` register in any order.
    assert [play.referee(n, meta={"display_name": f"Referee {n}"}) for n in (3, 1, 2)] == ["REF03", "REF01", "REF02"]
    assert play.referee(4, meta={"display_name": "Referee 1"}) == "REF04"
    assert play.referee(5, meta={"display_name": "Referee 9999"}) == "REF05"


def test_after_too_many_wrong_tries_no_repeat_counts() -> None:
    play = Play(players=1, referees=1)
    with pytest.raises(ProtocolError, match="Another player is called"):
        play.player(1, may_repeat=False)
