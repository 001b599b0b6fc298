"""The league around a referee under test: the kit is its manager and its players.

Each match has its own players, each with its own address. So the address at which a message arrives shows for whom it
was meant, whatever the message says. Time limits are short where the assignment can set them.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any, Literal

from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Side
from leaguekit.kit.checks import DEFAULTS, CheckSettings, Evidence, Failed, NotRun
from leaguekit.kit.documented_game import GAME
from leaguekit.kit.exchanges import IncomingRequest, Json, Network, Refusal, is_a
from leaguekit.kit.field_checks import StartsWith
from leaguekit.kit.harness import AgentHarness
from leaguekit.kit.referee.kit_players import KitPlayer, Plan
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import match_id, player_id
from leaguekit.protocol.methods import BY_REQUEST, PING

REFEREE_ID = "REF07"

# The limits of the documents, and the short limits of most matches here.
REAL_LIMITS = m.TimeLimits(join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=3, retry_seconds=2)
SHORT_LIMITS = m.TimeLimits(join_seconds=0.6, choice_seconds=0.8, game_over_seconds=1, max_retries=3, retry_seconds=0.4)
# A token that nobody was given.
FORGED_AUTH = "drv-made-by-nobody"
# Nobody listens here: port 9 of the referee's own machine is reserved for the discard protocol.
NO_LISTENER = "http://127.0.0.1:9/mcp"
# How long a referee may take to start a match after the announcement, to report it, and to send messages after that.
STARTING_SECONDS = 1.5
SLACK_SECONDS = 12.0
AFTER_SECONDS = 1.0
RECORD = m.OwnRecord(wins=2, losses=1, draws=3, points=9)

# The message because of which a referee starts a match.
StartMode = Literal["assignment", "announcement"]
# How the manager answers the first report of a match, if not by accepting it.
FirstAnswer = Refusal | Literal["silence"] | None


@dataclass
class AssignedMatch:
    """One match that the referee is given, with its players and its reports."""

    assignment: m.MatchAssignment
    players: dict[Side, KitPlayer]
    first_answer: FirstAnswer
    reports: list[IncomingRequest] = field(default_factory=list)

    @property
    def match_id(self) -> str:
        return self.assignment.match_id

    @property
    def report(self) -> IncomingRequest:
        """The first report of the match. Raises NotRun if there is none."""
        if not self.reports:
            raise NotRun(f"there is no report of {self.match_id} to look at")
        return self.reports[0]

    def require_report(self, expected: str) -> IncomingRequest:
        """Return the first report of the match. Raises Failed if there is none."""
        if not self.reports:
            raise Failed(Evidence(came="no report", expected=expected))
        return self.report

    @property
    def result(self) -> Json:
        """The result in the report; empty if it has none."""
        result = self.report.message.get("result")
        return result if isinstance(result, dict) else {}

    def received(self, side: Side, kind: type[m.Message]) -> list[IncomingRequest]:
        """Return the requests of a kind that a player has received."""
        return self.players[side].received(kind)

    def game_overs(self) -> dict[Side, IncomingRequest]:
        """Return the first GAME_OVER of each side that has received one."""
        return {side: got[0] for side in SIDES if (got := self.received(side, m.GameOver))}


class MatchesByName(dict[str, AssignedMatch]):
    """Matches that several checks look at, in their order. A missing one means that the check cannot run."""

    def __missing__(self, name: str) -> AssignedMatch:
        raise NotRun(f"the match to look at ({name}) was not played")


class RefereeHarness(AgentHarness):
    """The state of the checks of one referee, and the actions that they share."""

    role = "referee"
    agent_id = REFEREE_ID

    def __init__(
        self, world: World, network: Network, *, url: str | None = None, settings: CheckSettings = DEFAULTS
    ) -> None:
        super().__init__(world, network, url, settings)
        if not self.expects_registration:
            self.messages.reasons["registration"] = self.why_not_registered
        self.start_mode: StartMode | None = None
        self.matches = MatchesByName()
        self._round_numbers = itertools.count(1)
        self._player_numbers = itertools.count(1)

    @property
    def sender(self) -> str:
        """The sender that the referee must name. A referee that did not register may have any id."""
        return f"referee:{REFEREE_ID}" if self.expects_registration else StartsWith("referee:")

    @property
    def capacity(self) -> int:
        """How many matches the referee can play at the same time, according to its registration."""
        value = self.meta_value(self.registration, "max_concurrent_matches")
        return value if type(value) is int else 1

    # Requests of the referee

    def is_registration(self, request: IncomingRequest) -> bool:
        return request.kind is m.RefereeRegisterRequest

    async def respond(self, request: IncomingRequest) -> Any:
        kind = request.kind
        if self.is_registration(request):
            return await self.register(request)
        if kind is m.MatchResultReport:
            return await self._accept_report(request)
        if kind in (m.MatchProgress, m.MatchVoidReport):
            named = {name: request.message.get(name) for name in ("match_id", "attempt")}
            status = "ACKNOWLEDGED" if kind is m.MatchProgress else "ACCEPTED"
            return self.answer_to(request.message, BY_REQUEST[kind].answer) | named | {"status": status}
        if request.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        raise Refusal(-32601, f"This manager has no method {request.method!r}.")

    async def _accept_report(self, request: IncomingRequest) -> Json:
        match = self._match_of(request)
        if match is None:
            raise Refusal(5002, "Match not found")
        match.reports.append(request)
        if match.first_answer is not None and len(match.reports) == 1:
            if isinstance(match.first_answer, Refusal):
                raise match.first_answer
            await asyncio.Event().wait()
        ids = {"status": "ACCEPTED", "match_id": match.match_id, "round_id": match.assignment.round_id}
        return self.answer_to(request.message, m.MatchResultAck) | ids

    def _match_of(self, report: IncomingRequest) -> AssignedMatch | None:
        """Return the match of a report: the one that it names, or else the last one."""
        named = {match.match_id: match for match in self.matches.values()}
        return named.get(str(report.message.get("match_id"))) or next(reversed(named.values()), None)

    # Messages to the referee

    def good_call(self) -> m.Request:
        """Return the end of a round that was never played."""
        return m.RoundCompleted(
            **self.envelope("conv-round-999-complete"), round_id=999, next_round_id=None, matches_completed=1
        )

    def league_completed(self) -> m.LeagueCompleted:
        rows = [
            m.FinalStanding(rank=rank, player_id=player_id(rank), points=3 - rank, display_name=f"Player {rank}")
            for rank in (1, 2)
        ]
        return m.LeagueCompleted(
            **self.envelope("conv-league-complete"),
            total_rounds=len(self.matches),
            total_matches=len(self.matches),
            champion=m.Champion(player_id=rows[0].player_id, display_name="Player 1", points=rows[0].points),
            final_standings=rows,
        )

    # Matches

    async def new_match(
        self,
        name: str,
        a: Plan,
        b: Plan,
        *,
        limits: m.TimeLimits = SHORT_LIMITS,
        absent: Side | None = None,
        first_answer: FirstAnswer = None,
        number: int = 1,
        round_id: int | None = None,
    ) -> AssignedMatch:
        """Prepare a match, and keep it under ``name``. The player of the side ``absent`` cannot be reached."""
        round_number = next(self._round_numbers) if round_id is None else round_id
        match_name = match_id(round_number, number)
        purpose = (self.league_id, match_name, 1, REFEREE_ID)
        players: dict[Side, KitPlayer] = {}
        assigned: dict[Side, m.AssignedPlayer] = {}
        plans: dict[Side, Plan] = {"A": a, "B": b}
        for side, plan in plans.items():
            own_id = player_id(next(self._player_numbers))
            token = tokens.new_token(own_id, self.world.entropy(tokens.ENTROPY_BYTES))
            key = tokens.signing_key(token)
            player = KitPlayer(self.world, own_id, match_name, tokens.player_to_referee(key, *purpose), plan)
            player.url = NO_LISTENER if side == absent else await self.network.open(player.inbox)
            players[side] = player
            assigned[side] = m.AssignedPlayer(
                player_id=own_id,
                endpoint=player.url,
                state="ACTIVE",
                record=RECORD,
                display_name=f"Player {own_id}",
                shown_token=tokens.referee_to_player(key, *purpose),
                expected_token=player.token,
                verifier=tokens.verifier(token).hex(),
            )
        assignment = self.assignment(round_number, match_name, GAME.name, limits, assigned)
        self.matches[name] = AssignedMatch(assignment, players, first_answer)
        return self.matches[name]

    def announcement(self, *matches: AssignedMatch) -> m.RoundAnnouncement:
        """Return the announcement as referees get it, with the ids of referees and the addresses of players."""
        return m.RoundAnnouncement(
            **self.envelope(f"conv-round-{matches[0].assignment.round_id}-announce"),
            round_id=matches[0].assignment.round_id,
            matches=[
                m.AnnouncedMatch(
                    match_id=match.match_id,
                    game_type=GAME.name,
                    player_A_id=match.players["A"].player_id,
                    player_B_id=match.players["B"].player_id,
                    referee_endpoint=self.url,
                    referee_id=REFEREE_ID,
                    player_A_endpoint=match.players["A"].url,
                    player_B_endpoint=match.players["B"].url,
                )
                for match in matches
            ],
        )

    async def start(self, *matches: AssignedMatch) -> None:
        """Have the referee start matches of one round. The first call finds out which message starts them."""
        if self.start_mode != "assignment":
            await self.send("announcement", self.announcement(*matches))
        if self.start_mode is None:
            self.start_mode = (
                "announcement" if await self._has_invitation(matches[0], STARTING_SECONDS) else "assignment"
            )
        if self.start_mode == "assignment":
            await asyncio.gather(*(self.send(f"assignment of {match.match_id}", match.assignment) for match in matches))

    def require_assignments(self, reason: str = "it starts its matches by the announcement") -> None:
        """Raise NotRun for a referee that starts its matches by the announcement."""
        if self.start_mode != "assignment":
            raise NotRun(reason)

    async def play(self, name: str, a: Plan, b: Plan, *, slow: bool = False, **more: Any) -> AssignedMatch:
        """Play a match until its report, or for as long as a match can take. In a ``slow`` match a limit must pass."""
        if not self.url:
            raise NotRun("the URL of the referee is not known")
        if slow and self.start_mode == "announcement" and not self.settings.full:
            raise NotRun("it starts its matches by the announcement, which has no time limits: use --full")
        match = await self.new_match(name, a, b, **more)
        await self.start(match)
        await self.wait_for_end(match, max_duration(REAL_LIMITS) if slow else 0.0)
        return match

    async def wait_for_end(self, match: AssignedMatch, seconds: float = 0.0) -> None:
        """Wait for the report of a match and for GAME_OVER. Give up a little later than ``seconds``."""
        await self.inbox.wait_for(lambda _one: bool(match.reports), seconds + SLACK_SECONDS)
        for side, player in match.players.items():
            if match.received(side, m.GameInvitation):
                await player.inbox.wait_for(is_a(m.GameOver), AFTER_SECONDS)

    async def _has_invitation(self, match: AssignedMatch, seconds: float) -> bool:
        first = [player.inbox.wait_for(is_a(m.GameInvitation), seconds) for player in match.players.values()]
        return any(await asyncio.gather(*first))


def max_duration(limits: m.TimeLimits) -> float:
    """Return how long a match can take."""
    tries = 1 + limits.max_retries
    pauses = limits.max_retries * limits.retry_seconds
    return tries * (limits.join_seconds + limits.choice_seconds) + 2 * pauses
