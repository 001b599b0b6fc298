"""All commands of a league, in one module.

A command is a pure function. It takes a league and returns the events that follow, or raises. It does not change the
league: the manager stores the events and applies them.
"""

from __future__ import annotations

from leaguekit.league.access import *
from leaguekit.league.operator_commands import *
from leaguekit.league.registration import *
from leaguekit.league.results import *
from leaguekit.league.rounds import *
from leaguekit.league.rule_breaches import *
from leaguekit.league.tournaments import *
