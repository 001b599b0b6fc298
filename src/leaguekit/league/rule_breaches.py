"""What agents are forgiven in the ``open`` profile: kept in little room for their authors, and deciding nothing."""

from __future__ import annotations

from collections.abc import Iterable

from leaguekit.league.events import Event, FormLearned, RulesBroken
from leaguekit.league.state import League
from leaguekit.protocol.fields import INT32_MAX
from leaguekit.protocol.messages import BrokenRule

# There are some hundred rules; nobody needs to see more of one agent's.
MAX_RULES = 100
# The names of the forms in which requests are written.
FORMS = ("RPC", "RPC_CHOOSE_PARITY", "TYPE", "MESSAGE", "TOOLS", "ENVELOPE")


def learn_form(league: League, player_id: str, form: str, at: str) -> list[Event]:
    """A player understood a request in a form; news only if it was not known."""
    return [] if league.players[player_id].form == form else [FormLearned(at=at, player_id=player_id, form=form)]


def note_broken_rules(league: League, agent_id: str, broken: Iterable[BrokenRule], at: str) -> list[Event]:
    """Count rules that an agent broke. What came is written down the first time only."""
    known = league.broken_rules.get(agent_id, {})
    new: dict[str, BrokenRule] = {}
    for one in broken:
        if one.rule in new:
            new[one.rule].count = min(new[one.rule].count + one.count, INT32_MAX)
        elif one.rule in known:
            new[one.rule] = BrokenRule(rule=one.rule, came="", expected="", count=one.count)
        elif len(known) + len(new) < MAX_RULES:
            new[one.rule] = BrokenRule(rule=one.rule, came=one.came, expected=one.expected, count=one.count)
    return [RulesBroken(at=at, agent_id=agent_id, rules=list(new.values()))] if new else []
