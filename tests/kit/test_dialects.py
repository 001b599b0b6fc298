"""The kit against each fake of the dialect zoo: what it reports is right."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from leaguekit.games import game
from leaguekit.kit.checks import CheckSettings
from leaguekit.kit.player import check_player
from leaguekit.kit.report import Report
from leaguekit.sim import loop
from tests.kit.memory_ground import KIT_URL, MemoryGround, virtual_now
from tests.zoo.dialects import ZOO, Died, Fake, MemoryNet

ENDPOINT = "http://127.0.0.1:8101/mcp"

_NOTICES = ("round", "over", "standings", "round_over", "error", "end")
ACKNOWLEDGED = {f"{area}.acknowledged" for area in _NOTICES}
ABOUT = {f"{area}.about" for area in _NOTICES}
# It knows no method that it is called by, or answers in no form of JSON-RPC.
NOT_UNDERSTOOD = {"join.result", "choice.result"} | ACKNOWLEDGED
# The answer to its registration was not in a form that it reads: it does not know who it is.
NOBODY = {
    f"{area}.{name}" for area in ("join", "choice") for name in ("player_id", "sender", "shows_token")
} | ACKNOWLEDGED

# A plain agent of document 001 has nothing wrong with it that is required, and this that is recommended.
PLAIN = {
    "register.declares",
    "rpc.type_as_method",
    "rpc.invalid_params",
    "rpc.no_json",
    "rpc.no_request",
    "rpc.batch",
    "rpc.notification",
    "tokens.manager",
    "tokens.referee",
    "end.ends",
}
# What fails besides, by the name of the fake; of those that are not here, nothing.
FAILS: dict[str, set[str]] = {
    "only-rpc-choose": {"choice.result"},
    "only-type": NOT_UNDERSTOOD,
    "only-tools": NOT_UNDERSTOOD,
    "only-message": NOT_UNDERSTOOD,
    "only-registers-league_register": {"register.method"},
    "only-registers-message": {"register.method", "register.request"},
    "only-registers-tools": {"register.method", "register.request"} | NOBODY,
    "only-registers-envelope": NOBODY
    | {"register.method", "register.request", "register.envelope", "register.sender", "register.timestamp"},
    "only-registers-without-envelope": {"register.envelope", "register.sender", "register.timestamp"},
    "only-registers-bare-meta": {"register.envelope", "register.sender", "register.timestamp", "register.name"},
    "only-wants-REGISTERED": {"register.version"} | NOBODY,
    "only-never-registers": ACKNOWLEDGED,
    "only-own-id": {"join.player_id", "join.sender", "choice.player_id", "choice.sender"} | ABOUT,
    "only-opens-late": {"reach.early"},
    "only-answers-bare": NOT_UNDERSTOOD,
    "only-answers-request": NOT_UNDERSTOOD,
    "only-answers-text": {"join.message_type", "choice.message_type"} | ACKNOWLEDGED,
    "only-answers-structured": {"join.message_type", "choice.message_type"} | ACKNOWLEDGED,
    "only-joins-later": {"join.result"},
    "only-joins-at-fixed-port": {"join.result"},
    "only-chooses-in-choice": {"choice.legal"},
    "only-joins-by-ack": {"join.message_type"},
    "only-joins-by-status": {"join.accept"},
    "only-error-null": {"rpc.no_error"},
    "only-other-ids": NOT_UNDERSTOOD,
    # These are called by methods that they do not know, to see how they refuse.
    **{f"only-refuses-{status}": NOT_UNDERSTOOD | {"rpc.status"} for status in (400, 401, 404, 422, 500)},
    **{f"only-refuses-{word}": NOT_UNDERSTOOD | {"rpc.unknown_method"} for word in ("ok", "unknown", "error")},
    "only-refuses-in-text": NOT_UNDERSTOOD | {"rpc.status", "rpc.unknown_method"},
    "only-player_id-wrong": {"join.player_id", "choice.player_id"} | ABOUT,
    "only-player_id-missing": {"join.player_id", "choice.player_id"} | ACKNOWLEDGED,
    "only-sender-wrong": {"join.sender", "choice.sender"} | ACKNOWLEDGED,
    "only-token-wrong": {"join.token", "choice.token"},
    "only-token-echoed": {"join.token", "choice.token"},
    "only-token-missing": {"join.shows_token", "choice.shows_token"},
    "only-no-arrival_timestamp": {"join.arrival_timestamp"},
    "only-no-conversation_id": {"join.conversation_id", "choice.conversation_id"},
    "only-no-accept": {"join.accept"},
    "only-insists-integer-id": {"rpc.string_id"},
    "only-insists-nested": {"join.result", "choice.result", "rpc.status"},
    # It takes no manager but league_manager:LM01, and so neither a registration's answer nor a broadcast of ours.
    "only-insists-senders": NOBODY | {"rpc.status", "rpc.string_id"},
    "only-refuses-second-invitation": {"repeat.invitation"},
    "only-stuck-until-game-over": {"time.at_once"},
    "only-knows-half-the-broadcasts": {"standings.acknowledged", "round_over.acknowledged"},
    "only-stalls-without-8001": {"join.answered"},
    "only-never-comes": {"register.comes"},
    "only-dies-registering": {"register.comes"},
    "only-dies-joining": {"join.result", "rpc.status"},
    "raven": NOT_UNDERSTOOD
    | {"register.method", "register.request", "register.envelope", "register.sender", "register.timestamp"},
    "heron": {"reach.early", "join.player_id", "join.sender", "join.arrival_timestamp", "choice.result"}
    | {"rpc.no_error", "rpc.status", "rpc.string_id"}
    | ACKNOWLEDGED,
    # These two open their port only when they like the answer to their registration, and they do not like ours.
    "ibis": {"register.version", "reach.early", "reach.ping"},
    "kestrel": {"reach.early", "reach.ping"},
    "jackal": {"register.method", "register.envelope", "register.sender", "register.timestamp"}
    | {"join.player_id", "choice.result", "rpc.unknown_method"}
    | ACKNOWLEDGED,
    "lemur": {"join.result"},
    "marten": {"reach.early", "join.answered", "choice.player_id", "choice.sender"} | ABOUT,
    "newt": {"register.envelope", "register.sender", "register.timestamp", "register.name"}
    | {"reach.early", "rpc.unknown_method"}
    | NOT_UNDERSTOOD,
    "otter": NOT_UNDERSTOOD | {"rpc.status"},
    "puffin": NOT_UNDERSTOOD | {"register.method", "register.request"},
    "quail": NOT_UNDERSTOOD | {"register.method", "register.request", "rpc.unknown_method"},
}
# What a plain agent lacks and these have.
HAVE = {"only-exits-on-LEAGUE_COMPLETED": {"end.ends"}, "lemur": {"end.ends"}}
# Those with nothing wrong that is required: a league of the profile ``spec`` can host them.
CONFORM = {
    "only-rpc",
    "only-rpc-parity",
    "only-registers-type",
    "only-never-registers",
    "only-error-null",
    "only-sender-missing",
    "only-token-missing",
    "only-no-conversation_id",
    *(f"only-insists-{what}" for what in ("integer-id", "timestamp", "token", "envelope", "conversation_id")),
    "only-insists-player_id",
    "only-insists-league-and-round",
    "only-stuck-until-game-over",
    "only-knows-half-the-broadcasts",
    "only-exits-on-LEAGUE_COMPLETED",
    *(f"only-times-{form}" for form in ("milliseconds", "microseconds", "offset", "compact")),
}


async def _checked(name: str) -> Report:
    ground, species = MemoryGround(), ZOO[name]
    fake = Fake(species, ENDPOINT, KIT_URL, MemoryNet(ground.network, ground.caller), clock=virtual_now)

    async def come() -> None:
        with contextlib.suppress(Died):
            await fake.come()

    coming = asyncio.ensure_future(come())
    url = ENDPOINT if "never-registers" in species.traits else None
    try:
        return await check_player(
            ground.world(), ground, game(species.game_type), url=url, terms=CheckSettings(patience=30.0)
        )
    finally:
        await fake.leave()
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


@pytest.mark.parametrize("name", ZOO)
def test_the_report_on_a_fake_names_what_is_wrong_with_it_and_nothing_else(name: str) -> None:
    report = loop.run(_checked(name))
    failed = {one.check.id for one in report.outcomes if one.state == "failed"}
    made = {one.check.id for one in report.outcomes if one.state != "not run"}
    assert failed == ((PLAIN | FAILS.get(name, set())) - HAVE.get(name, set())) & made
    assert failed >= FAILS.get(name, set())
    assert report.exit_code == (0 if name in CONFORM else 1)


def test_every_fake_that_is_spoken_of_is_in_the_zoo() -> None:
    assert {*FAILS, *HAVE, *CONFORM} <= {*ZOO}
