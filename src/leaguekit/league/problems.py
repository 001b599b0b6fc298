"""Agents with problems, for the operator: what went wrong, and which registrations were refused.

The pages, ``league agents --problems`` and the report show the same list.
"""

from __future__ import annotations

from msgspec import Struct

from leaguekit.league.records import Player, Referee, RefusedAgent
from leaguekit.league.state import League
from leaguekit.protocol.fields import AgentState
from leaguekit.protocol.messages import MoveOrigins, RequestCounts

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


class Problems(Struct, kw_only=True):
    """The agents with problems, the worst first, and the refused registrations, the latest first."""

    agents: list[AgentProblems]
    refused: list[RefusedAgent]


def find_problems(league: League) -> Problems:
    """The agents of a league that have problems."""
    found = [one for one in (_problems_of(league, agent) for agent in league.agents) if one.sentences]
    # An agent that was refused, and then registered, has no problem. It may have registered at another endpoint.
    registered = {(agent.role, agent.meta.display_name): agent.registered.at for agent in league.agents}
    refused = [
        one
        for one in reversed(league.refused.values())
        if registered.get((one.role, one.display_name), "") < one.last_at
    ]
    return Problems(agents=sorted(found, key=_severity, reverse=True), refused=refused)


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


def _severity(one: AgentProblems) -> tuple[int, ...]:
    """The key by which agents are sorted. An agent that has left the league does no more harm.

    Others wait for an agent that does not answer. A wrong answer costs nobody time.
    """
    no_answer = one.timeouts + one.unreachable + one.unanswered
    costs = (one.technical_losses, one.unreachable_since is not None, no_answer, one.illegal_moves + one.wrong_answers)
    return one.out is None, *costs, one.replaced_moves, one.breaches
