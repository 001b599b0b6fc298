"""Everything that a manager can do with a league, in one place.

A command takes the league as it is and returns the events that follow, or raises; it changes nothing. The shell
writes the events down and applies them.
"""

from __future__ import annotations

from leaguekit.league.access import issue_seats, revoke_seat, set_referee_code, void_token
from leaguekit.league.operator_commands import correct, disqualify, pause, rematch, resume, withdraw
from leaguekit.league.registration import (
    Applicant,
    Rejected,
    admit_player,
    admit_referee,
    register_player,
    register_referee,
)
from leaguekit.league.results import (
    is_missed,
    note_answer,
    note_failures,
    record_result,
    referee_lost,
    referee_returned,
    void_attempt,
)
from leaguekit.league.rounds import announce_round, assign, create, start
from leaguekit.league.rule_breaches import learn_form, note_broken_rules

__all__ = [
    "Applicant",
    "Rejected",
    "admit_player",
    "admit_referee",
    "announce_round",
    "assign",
    "contested",
    "correct",
    "create",
    "dispute",
    "disqualify",
    "is_missed",
    "issue_seats",
    "learn_form",
    "note_answer",
    "note_broken_rules",
    "note_failures",
    "owner_of",
    "pause",
    "record_result",
    "referee_lost",
    "referee_returned",
    "register_player",
    "register_referee",
    "rematch",
    "resume",
    "revoke_seat",
    "rule_unreachable",
    "set_referee_code",
    "start",
    "void_attempt",
    "void_token",
    "withdraw",
]
