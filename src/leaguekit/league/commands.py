"""All commands of a league, in one module.

A command is a pure function. It takes a league and returns the events that follow, or raises. It does not change the
league: the manager stores the events and applies them.
"""

from __future__ import annotations

from leaguekit.league.access import issue_seats, revoke_seat, set_referee_code, void_token
from leaguekit.league.operator_commands import correct, disqualify, pause, rematch, resume, withdraw
from leaguekit.league.registration import (
    Applicant,
    Rejected,
    admit_player,
    admit_referee,
    contested_owner,
    endpoint_owner,
    register_player,
    register_referee,
)
from leaguekit.league.results import (
    flag_second_report,
    forfeit_unreachable,
    has_missed_calls,
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
    "contested_owner",
    "correct",
    "create",
    "disqualify",
    "endpoint_owner",
    "flag_second_report",
    "forfeit_unreachable",
    "has_missed_calls",
    "issue_seats",
    "learn_form",
    "note_answer",
    "note_broken_rules",
    "note_failures",
    "pause",
    "record_result",
    "referee_lost",
    "referee_returned",
    "register_player",
    "register_referee",
    "rematch",
    "resume",
    "revoke_seat",
    "set_referee_code",
    "start",
    "void_attempt",
    "void_token",
    "withdraw",
]
