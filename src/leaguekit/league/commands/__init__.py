"""All commands of a league.

A command is a pure function. It takes a league and returns the events that follow, or raises. It does not change the
league: the manager stores the events and applies them.
"""

from __future__ import annotations

from leaguekit.league.commands.access import *
from leaguekit.league.commands.operator import *
from leaguekit.league.commands.registration import *
from leaguekit.league.commands.results import *
from leaguekit.league.commands.rounds import *
from leaguekit.league.commands.rule_breaches import *
from leaguekit.league.commands.tournaments import *
