"""The kit reports the right failures for each fake of the dialect zoo."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from leaguekit.games import game
from leaguekit.kit.checks import CheckSettings
from leaguekit.kit.player import check_player
from leaguekit.kit.report import Report
from leaguekit.sim import loop
from tests.kit.memory_network import KIT_URL, MemoryKitNetwork, virtual_now
from tests.zoo.dialects import ZOO, Died, Fake, MemoryNet

ENDPOINT = "http://127.0.0.1:8101/mcp"

_NOTICES = ("round", "over", "standings", "round_over", "error", "end")
ACKNOWLEDGED = {f"{area}.acknowledged" for area in _NOTICES}
ABOUT = {f"{area}.about" for area in _NOTICES}
# Agents that do not know the methods of the kit, or that do not answer in the form of JSON-RPC.
NOT_UNDERSTOOD = {"join.result", "choice.result"} | ACKNOWLEDGED
# Agents that cannot read the answer to their registration, and so do not know their id.
UNREGISTERED = {
    f"{area}.{name}" for area in ("join", "choice") for name in ("player_id", "sender", "shows_token")
} | ACKNOWLEDGED

# A plain agent of document 001 passes all required checks, and fails these recommended ones.
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
# What else fails, by the name of the fake. Nothing else fails for a fake that is not here.
FAILS: dict[str, set[str]] = {
    "only-rpc-choose": {"rpc.method_names"},
    "only-type": {"rpc.method_names"},
    "only-tools": NOT_UNDERSTOOD,
    "only-message": NOT_UNDERSTOOD,
    "only-registers-league_register": {"register.method"},
    "only-registers-message": {"register.method", "register.request"},
    "only-registers-tools": {"register.method", "register.request"} | UNREGISTERED,
    "only-registers-envelope": UNREGISTERED
    | {"register.method", "register.request", "register.envelope", "register.sender", "register.timestamp"},
    "only-registers-without-envelope": {"register.envelope", "register.sender", "register.timestamp"},
    "only-registers-bare-meta": {"register.envelope", "register.sender", "register.timestamp", "register.name"},
    "only-wants-REGISTERED": {"register.version"} | UNREGISTERED,
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
    "only-joins-by-accepted": {"join.accept"},
    "only-joins-by-accept-alone": {"join.message_type"},
    "only-writes-type": {"register.envelope", "join.message_type", "choice.message_type"} | ACKNOWLEDGED,
    "only-error-null": {"rpc.no_error"},
    "only-other-ids": NOT_UNDERSTOOD,
    # The kit goes on with the names that these know, in whatever form they say which they do not know.
    **{f"only-refuses-{status}": {"rpc.method_names"} for status in (400, 401, 404, 422, 500)},
    **{
        f"only-refuses-{how}": {"rpc.method_names", "rpc.unknown_method"}
        for how in ("ok", "unknown", "error", "in-text")
    },
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
    # It accepts messages only from league_manager:LM01, and so none of the kit's.
    "only-insists-senders": UNREGISTERED | {"rpc.status", "rpc.string_id"},
    "only-refuses-second-invitation": {"repeat.invitation"},
    "only-stuck-until-game-over": {"time.at_once"},
    "only-knows-half-the-broadcasts": {"standings.acknowledged", "round_over.acknowledged"},
    "only-stalls-without-8001": {"join.answered"},
    "only-never-comes": {"register.comes"},
    "only-dies-registering": {"register.comes"},
    "only-dies-joining": {"join.result", "rpc.status"},
    "raven": NOT_UNDERSTOOD
    | {"register.method", "register.request", "register.envelope", "register.sender", "register.timestamp"},
    "heron": {"reach.early", "join.player_id", "join.sender", "join.arrival_timestamp", "join.accept"}
    | {"choice.player_id", "choice.sender", "rpc.no_error", "rpc.method_names", "rpc.string_id"}
    | ACKNOWLEDGED,
    # These two listen only after a certain answer to their registration, which the kit's is not.
    "ibis": {"register.version", "reach.early", "reach.ping"},
    "kestrel": {"reach.early", "reach.ping"},
    "jackal": {"register.method", "register.envelope", "register.sender", "register.timestamp"}
    | {"join.message_type", "choice.message_type", "rpc.method_names", "rpc.unknown_method"}
    | ACKNOWLEDGED,
    "lemur": {"join.result"},
    "marten": {"reach.early", "join.answered", "choice.player_id", "choice.sender"} | ABOUT,
    "newt": {"register.envelope", "register.sender", "register.timestamp", "register.name"}
    | {"reach.early", "rpc.unknown_method"}
    | NOT_UNDERSTOOD,
    "otter": NOT_UNDERSTOOD | {"rpc.status"},
    "puffin": NOT_UNDERSTOOD | {"register.method", "register.request", "rpc.status"},
    "quail": NOT_UNDERSTOOD | {"register.method", "register.request", "rpc.unknown_method"},
}
# Checks that a plain agent fails and these pass.
HAVE = {
    "only-exits-on-LEAGUE_COMPLETED": {"end.ends"},
    "lemur": {"end.ends"},
    "only-type": {"rpc.type_as_method"},
    **{f"only-refuses-{status}": {"rpc.type_as_method"} for status in (400, 401, 404, 422, 500)},
    **{f"only-refuses-{how}": {"rpc.type_as_method"} for how in ("ok", "unknown", "error", "in-text")},
}
# Fakes that pass all required checks: a league with the profile ``spec`` can host them.
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


async def _run_checks(name: str) -> Report:
    network, species = MemoryKitNetwork(), ZOO[name]
    fake = Fake(species, ENDPOINT, KIT_URL, MemoryNet(network.memory, network.caller), clock=virtual_now)

    async def come() -> None:
        with contextlib.suppress(Died):
            await fake.come()

    coming = asyncio.ensure_future(come())
    url = ENDPOINT if "never-registers" in species.traits else None
    try:
        return await check_player(
            network.world(), network, game(species.game_type), url=url, settings=CheckSettings(timeout_seconds=30.0)
        )
    finally:
        await fake.leave()
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


# These never send anything, so there is no agent to check.
ABSENT = ("only-never-comes", "only-dies-registering")


@pytest.mark.parametrize("name", ZOO)
def test_the_report_on_a_fake_names_what_is_wrong_with_it_and_nothing_else(name: str) -> None:
    report = loop.run(_run_checks(name))
    failed = {one.check.id for one in report.outcomes if one.state == "failed"}
    made = {one.check.id for one in report.outcomes if one.state != "not run"}
    assert failed == ((PLAIN | FAILS.get(name, set())) - HAVE.get(name, set())) & made
    assert failed >= FAILS.get(name, set())
    assert report.exit_code == (0 if name in CONFORM else 2 if name in ABSENT else 1)


def test_every_fake_that_is_spoken_of_is_in_the_zoo() -> None:
    assert {*FAILS, *HAVE, *CONFORM} <= {*ZOO}
