"""Rule breaches that the ``open`` profile tolerates. They are recorded for agents' authors and affect no result."""

from __future__ import annotations

from collections.abc import Iterable

from leaguekit.league.events import Event, FormLearned, RulesBroken
from leaguekit.league.state import League
from leaguekit.protocol.fields import INT32_MAX
from leaguekit.protocol.messages import BrokenRule
from leaguekit.protocol.methods import OTHER_NAME_FORM

# At most this number of different rules is recorded per agent.
MAX_RULES = 100
# The names of the forms in which requests are written.
FORMS = ("RPC", OTHER_NAME_FORM, "TYPE", "MESSAGE", "TOOLS", "ENVELOPE")


def learn_form(league: League, player_id: str, form: str, at: str) -> list[Event]:
    """Record the form in which a player understood a request, unless it is known."""
    return [] if league.players[player_id].form == form else [FormLearned(at=at, player_id=player_id, form=form)]


def note_broken_rules(league: League, agent_id: str, broken: Iterable[BrokenRule], at: str) -> list[Event]:
    """Count rules that an agent broke. The details are recorded only for the first breach of a rule."""
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
