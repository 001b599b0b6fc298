"""Agents with problems, for the operator: what went wrong, and which registrations were refused.

The pages, ``league agents --problems`` and the report show the same list.
"""

from __future__ import annotations

from msgspec import Struct

from leaguekit.league import events as e
from leaguekit.league.records import Player, Referee
from leaguekit.league.state import League
from leaguekit.protocol.fields import AgentState
from leaguekit.protocol.messages import MoveOrigins, RequestCounts
from leaguekit.protocol.plain_text import sanitize_line

# The number of refusals that are kept: of the whole league, and of one address. Anybody can send registrations.
MAX_REFUSALS, MAX_REFUSALS_PER_ADDRESS = 300, 100
MAX_NAME, MAX_REASON = 60, 300
# The fields of ``AgentProblems`` in words, the worst first.
_WORDS = (
    ("technical_losses", "technical loss", "technical losses"),
    ("illegal_moves", "illegal move", "illegal moves"),
    ("wrong_answers", "answer that did not count", "answers that did not count"),
    ("timeouts", "time-out", "time-outs"),
    ("unreachable", "request without a connection", "requests without a connection"),
    ("unanswered", "call in a row not answered", "calls in a row not answered"),
    ("replaced_moves", "move replaced by another legal move", "moves replaced by other legal moves"),
    ("broken_rules", "rule of the protocol broken", "rules of the protocol broken"),
)


class AgentProblems(Struct, kw_only=True):
    """What went wrong with one agent. The counts are over all its matches that referees reported."""

    agent_id: str
    display_name: str
    state: AgentState
    # Why it has left the league; None while it is in the league.
    out: str | None = None
    technical_losses: int = 0
    illegal_moves: int = 0
    wrong_answers: int = 0
    timeouts: int = 0
    unreachable: int = 0
    # Moves that were replaced by other legal moves, as the agent itself states.
    replaced_moves: int = 0
    # Calls in a row that it did not answer, and the time of the first.
    unanswered: int = 0
    unreachable_since: str | None = None
    # The number of different rules that it broke, and how often.
    broken_rules: int = 0
    breaches: int = 0
    # The same in words, the worst first. The time of ``unreachable_since`` is not in them.
    sentences: list[str] = []


class RefusedRegistration(Struct, kw_only=True):
    """An applicant that was refused and has not registered since."""

    role: str
    display_name: str
    address: str
    code: str
    reason: str
    at: str


class Problems(Struct, kw_only=True):
    """The agents with problems, the worst first, and the refused registrations, the latest first."""

    agents: list[AgentProblems]
    refused: list[RefusedRegistration]


def find_problems(league: League) -> Problems:
    """The agents of a league that have problems."""
    agents: list[Player | Referee] = [*league.players.values(), *league.referees.values()]
    found = [one for one in (_problems_of(league, agent) for agent in agents) if one.sentences]
    refused = [
        RefusedRegistration(
            role=event.role,
            display_name=event.display_name,
            address=event.address,
            code=event.code,
            reason=event.reason,
            at=event.at,
        )
        for event in reversed(league.refusals)
    ]
    return Problems(agents=sorted(found, key=_badness, reverse=True), refused=refused)


def note_refusal(
    league: League, role: str, display_name: str, *, address: str, code: str, reason: str, at: str
) -> list[e.Event]:
    """Record that a registration was refused, once per applicant and reason, as long as there is room."""
    name = sanitize_line(display_name)[:MAX_NAME]
    refused = e.RegistrationRefused(
        at=at, role=role, display_name=name, address=address, code=code, reason=sanitize_line(reason)[:MAX_REASON]
    )
    is_known = any((one.role, one.display_name, one.code) == (role, name, code) for one in league.refusals)
    of_address = sum(one.address == address for one in league.refusals)
    has_room = len(league.refusals) < MAX_REFUSALS and of_address < MAX_REFUSALS_PER_ADDRESS
    return [refused] if has_room and not is_known else []


def _problems_of(league: League, agent: Player | Referee) -> AgentProblems:
    breaches = league.broken_rules.get(agent.id, {})
    found = AgentProblems(
        agent_id=agent.id,
        display_name=agent.meta.display_name,
        state=agent.state,
        broken_rules=len(breaches),
        breaches=sum(breach.count for breach in breaches.values()),
    )
    if isinstance(agent, Referee):
        found.unreachable_since = agent.lost_since
        found.sentences = ["does not answer"] if agent.lost else []
    else:
        requests = league.requests.get(agent.id, RequestCounts())
        found.out = agent.out
        found.technical_losses = league.table.rows[agent.id].technical_losses if agent.id in league.table.rows else 0
        found.illegal_moves, found.wrong_answers = requests.illegal, requests.wrong - requests.illegal
        found.timeouts, found.unreachable = requests.timeouts, requests.unreachable
        found.replaced_moves = league.move_origins.get(agent.id, MoveOrigins()).replaced
        found.unanswered, found.unreachable_since = agent.failures, agent.silent_since
    for name, one, many in _WORDS:
        if count := getattr(found, name):
            found.sentences.append(f"{count:,} {one if count == 1 else many}")
    return found


def _badness(one: AgentProblems) -> tuple[int, ...]:
    """The key by which agents are sorted. An agent that has left the league does no more harm."""
    no_answer = one.timeouts + one.unreachable + one.unanswered
    costs = (one.technical_losses, one.unreachable_since is not None, one.illegal_moves + one.wrong_answers, no_answer)
    return one.out is None, *costs, one.replaced_moves, one.breaches
