"""The public projection of a league: the part of its events and its state that everybody may see.

The league's state is folded from the events. The projection follows the same events in order, and keeps only what that
state does not: news, the latest results, the numbers of the events about each match, and counts of the evidence.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from datetime import datetime

from msgspec import UNSET

from leaguekit.games import find_game
from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.commands.rounds import available_referees
from leaguekit.league.commands.tournaments import draws_more
from leaguekit.league.evidence import read_evidence
from leaguekit.league.pairings import advancement, view_of, visible_stages
from leaguekit.league.records import Player, Referee
from leaguekit.league.sentences import describe_event, registered_id
from leaguekit.league.standings import PlacedRow, Table
from leaguekit.league.state import League
from leaguekit.league.ties import describe_order, first_place, payoff_sentence, tie_sentences
from leaguekit.manager.rounds.league_runner import LeagueRunner
from leaguekit.protocol import times
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.web.api_types import (
    Champion,
    Change,
    ChangedItems,
    LeagueView,
    Live,
    NewsItem,
    RemovedKeys,
    StandingRow,
    StartCondition,
)
from leaguekit.web.evidence_counts import EvidenceCounts
from leaguekit.web.front_page import RecentResults, has_report, highlights, rank_sum, upcoming_matches
from leaguekit.web.pictures import LivePictures
from leaguekit.web.rows import agent_row, in_play_row, match_row, pairing_row, standing_row

# The stream is bounded, whatever the size of the league. Pages have the rest.
MAX_STANDINGS = 100
MAX_PLAYING = 200
MAX_LATEST = 20
# The acts of operators that are kept, whatever else has happened since.
MAX_OPERATIONS = 100
MAX_TIES = 5
# Stages of a bracket with more pairings are not in the stream. Of a round the first 64 pairings are in it, and of all
# challengers together 256.
MAX_PLACES = 64
KEYED = ("standings", "playing", "results", "agents", "news", "pairings", "upcoming", "highlights")
# The end of a text, from the last bracket, semicolon or colon before a command in backquotes. It tells operators
# what to do, and is left out.
_REMEDY = re.compile(r"\s*[(;:][^(;:`]*`.*")

_BY_OPERATOR = (
    e.SeatsIssued,
    e.SeatRevoked,
    e.RefereeCodeSet,
    e.TokenVoided,
    e.LeaguePaused,
    e.LeagueResumed,
    e.PlayerWithdrawn,
    e.PlayerDisqualified,
    e.PlayerReadmitted,
    e.SettingsChanged,
    e.MatchReplayed,
    e.ResultCorrected,
)
# A busy league has very many of these, and other parts of the page show them.
_NOT_NEWS = (e.MatchAssigned, e.ResultRecorded, e.FailuresCounted, e.FormLearned, e.RulesBroken, e.RegistrationRefused)


class Projection:
    """The public part of a league. ``apply`` every event, from the first on, after the league has applied it."""

    def __init__(self, league: League, runner: LeagueRunner, gateway: str | None = None) -> None:
        """``gateway`` is the URL of the gateway's page."""
        self.league = league
        self.number = 0
        # By player. A player that has none yet gets counts of zero.
        self.evidence_counts: defaultdict[str, EvidenceCounts] = defaultdict(EvidenceCounts)
        self.announced_at: dict[int, str] = {}
        self.runner = runner
        self._gateway = gateway
        self._recent_results = RecentResults(league)
        self._pictures = LivePictures()
        self._times: dict[type[e.Event], str] = {}
        self._latest_results: deque[str] = deque(maxlen=MAX_LATEST)
        self._news: deque[NewsItem] = deque(maxlen=MAX_LATEST)
        self.operations: deque[NewsItem] = deque(maxlen=MAX_OPERATIONS)
        self._event_numbers: dict[str, tuple[int, ...]] = {}
        # By agent, the number of its first registration.
        self._registrations: dict[str, int] = {}
        # The table after all rounds before the latest one, and the number of rounds that are counted in it.
        self._table_before: Table | None = None
        self._counted_rounds = 0
        self._placed: list[PlacedRow] = []
        self._placed_standings: object = None

    def apply(self, number: int, event: e.Event) -> None:
        self.number = number
        match event:
            case e.LeagueCreated() | e.LeagueStarted() | e.LeagueCompleted():
                self._times[type(event)] = event.at
            case e.RoundAnnounced():
                self.announced_at[event.round_id] = event.at
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected() | e.MatchReplayed():
                self._apply_result(event)
            case e.FailuresCounted() if event.in_a_row:
                self.evidence_counts[event.player_id].missed += 1
            case e.PlayerRegistered() | e.RefereeRegistered():
                self._registrations.setdefault(registered_id(event), number)
        if (match_id := getattr(event, "match_id", None)) is not None:
            self._event_numbers[match_id] = (*self._event_numbers.get(match_id, ()), number)
        if not isinstance(event, _NOT_NEWS):
            news = self.news_item(number, event)
            self._news.append(news)
            if news.by_operator:
                self.operations.append(news)

    def _apply_result(self, event: e.ResultRecorded | e.MatchForfeited | e.ResultCorrected | e.MatchReplayed) -> None:
        if isinstance(event, e.ResultRecorded):
            for player, evidence in read_evidence(event.result.details).items():
                self.evidence_counts[player].add(evidence, event.at, event.match_id)
        match = self.league.matches[event.match_id]
        self._recent_results.forget(match.players)
        if match.round_id <= self._counted_rounds:
            # A round that was over has changed.
            self._table_before = None
        if event.match_id in self._latest_results:
            self._latest_results.remove(event.match_id)
        if not isinstance(event, e.MatchReplayed):
            self._latest_results.append(event.match_id)

    def news_item(self, number: int, event: e.Event) -> NewsItem:
        """An event as a sentence without addresses."""
        names = (getattr(event, name, None) for name in ("player_id", "referee_id", "agent_id"))
        agent = next(filter(None, names), None)
        is_known = self._registrations.get(agent or "", number) < number
        return NewsItem(
            number=number,
            at=event.at,
            event=type(event).__name__,
            text=remove_addresses(describe_event(event, self._registrations if is_known else ())),
            match_id=getattr(event, "match_id", None),
            agent_id=agent,
            by_operator=isinstance(event, _BY_OPERATOR) or getattr(event, "by_operator", False),
        )

    def event_numbers(self, match_id: str) -> tuple[int, ...]:
        """The numbers of the events about a match."""
        return self._event_numbers.get(match_id, ())

    # The table

    def ranks_before(self) -> dict[str, int]:
        """The rank of each player before the latest round that has a result.

        Empty if that is the first round, or if the format ranks the players.
        """
        league = self.league
        wanted = league.current_round - 1
        while wanted > 0 and league.rounds[wanted].remaining == len(league.rounds[wanted].matches):
            wanted -= 1
        if wanted < 1 or league.table.ranking:
            return {}
        if self._table_before is None or self._counted_rounds > wanted:
            self._table_before, self._counted_rounds = league.new_table(), 0
        for row in league.table.rows.values():
            if row.player_id not in self._table_before.rows:
                self._table_before.add_player(row.player_id, row.display_name)
        while self._counted_rounds < wanted:
            round_ = league.rounds[self._counted_rounds]
            for name in round_.matches:
                if (result := league.matches[name].result) is not None:
                    self._table_before.count(result)
            if league.draws_rounds:
                self._table_before.count_without_game(league.idle_players(round_), round_.byes)
            self._counted_rounds += 1
        return {name: row.rank for name, row in self._table_before.standings().items()}

    def standings(self, offset: int = 0, limit: int = MAX_STANDINGS) -> list[StandingRow]:
        """Part of the table, with the ranks gained and lost."""
        before, rows = self.ranks_before(), self.placed_rows()[offset : offset + limit]
        return [
            standing_row(self.league, row, before.get(row.player_id), self._recent_results.of(row.player_id))
            for row in rows
        ]

    def placed_rows(self) -> list[PlacedRow]:
        """The whole table. It is made once after each change."""
        standings = self.league.table.standings()
        if standings is not self._placed_standings:
            self._placed_standings, self._placed = standings, self.league.table.placed_rows()
        return self._placed

    # The whole

    def league_view(self) -> LeagueView:
        league = self.league
        status, settings = queries.status(league), league.settings
        is_over = league.state == "LEAGUE_COMPLETED"
        game = find_game(settings.game_name)
        first = queries.champion(league) if is_over else None
        rows = self.placed_rows()
        return LeagueView(
            league_id=settings.league_id,
            title=settings.title or settings.league_id,
            game_type=settings.game_type,
            game=settings.game_name,
            pure_chance=game is not None and bool(game.luck),
            state=league.state,
            paused=league.paused,
            round=status.current_round,
            total_rounds=status.total_rounds,
            matches_played=status.matches_played,
            total_matches=status.total_matches,
            players=status.players,
            referees=status.referees,
            starts_at=self._starts_at(),
            waits_for=[
                *self._waits_to_start(),
                *(_REMEDY.sub("", reason) for reason in (*queries.waits_for(league), *self.runner.waits_for)),
            ],
            created_at=self._times.get(e.LeagueCreated),
            started_at=self._times.get(e.LeagueStarted),
            ended_at=self._times.get(e.LeagueCompleted),
            champion=None
            if first is None
            else Champion(id=first.player_id, name=first.display_name or first.player_id, points=first.points),
            seed_hex=settings.seed_hex if is_over else None,
            seed_commitment=settings.seed_commitment,
            order=describe_order(settings),
            first=first_place(rows, is_over=is_over, by_points=not league.table.ranking)
            if status.matches_played and (is_over or not league.table.ranking)
            else None,
            ties=tie_sentences(rows, settings.tie_breaks, MAX_TIES),
            view=view_of(league),
            draws_more=draws_more(league),
            round_label=league.rounds[league.current_round - 1].label if league.current_round else "",
            advancement=advancement(league),
            tie_breaks=[] if league.table.ranking else list(settings.tie_breaks),
            end_reason=league.end_reason,
            format=settings.format_text,
            starts_with=StartCondition(players=start_when[0], referees=start_when[1])
            if (start_when := self.runner.start_when) is not None and league.is_open
            else None,
            needs_seat=settings.require_seat,
            gateway=self._gateway,
            has_report=has_report(league),
            ranked_by=payoff_sentence(settings) or UNSET,
        )

    def _starts_at(self) -> str | None:
        """When the league begins, or the round that was announced last if none of its matches has begun."""
        league = self.league
        if league.is_open:
            return self.runner.start_at
        announced = self.announced_at.get(league.current_round)
        if announced is None or not league.round_in_play or not league.settings.announce_lead:
            return None
        if any(league.matches[name].attempt for name in league.rounds[league.current_round - 1].matches):
            return None
        begins = times.parse_timestamp(announced).timestamp() + league.settings.announce_lead
        return times.format_timestamp(datetime.fromtimestamp(begins, tz=times.parse_timestamp(announced).tzinfo))

    def _waits_to_start(self) -> list[str]:
        league, when = self.league, self.runner.start_when
        if not league.is_open:
            return []
        if when is None:
            return [] if self.runner.start_at is not None else ["the operator"]
        here = (len(league.table.rows), len(available_referees(league)))
        missing = [
            (kind, wanted - known) for kind, known, wanted in zip(("player", "referee"), here, when, strict=True)
        ]
        return [f"{count} more {kind}{'s' if count > 1 else ''}" for kind, count in missing if count > 0]

    def live(self, now: datetime) -> Live:
        """The current content of the stream."""
        league = self.league
        standings = {row.id: row for row in self.standings()}
        assigned = (league.matches[name] for referee in league.referees.values() for name in referee.assigned_matches)
        playing = sorted(assigned, key=lambda match: rank_sum(league, match))[:MAX_PLAYING]
        self._pictures.update(league.settings.game_name, playing, self.runner.progress.latest)
        agents: list[Player | Referee] = [*league.referees.values(), *(league.players[name] for name in standings)]
        return Live(
            seq=self.number,
            now=with_milliseconds(now),
            league=self.league_view(),
            standings=standings,
            playing={
                match.id: in_play_row(
                    league, match, self.runner.progress.latest.get(match.id), self._pictures.get(match.id)
                )
                for match in playing
            },
            results={name: match_row(league, league.matches[name]) for name in self._latest_results},
            agents={agent.id: agent_row(agent) for agent in agents},
            news={str(one.number): one for one in self._news},
            pairings={
                f"{stage.number}.{place}": pairing_row(league, stage, pairing)
                for stage in visible_stages(league, MAX_PLACES)
                for place, pairing in enumerate(stage.pairings, start=1)
            },
            upcoming={match.id: match_row(league, match) for match in upcoming_matches(league)},
            highlights={one.match.match_id: one for one in highlights(league)}
            if league.state == "LEAGUE_COMPLETED"
            else {},
        )


def with_milliseconds(moment: datetime) -> str:
    """A time for a page that counts down."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def change(before: Live, after: Live) -> Change | None:
    """The change that leads from one state to another; None if they are equal."""
    changed, removed = ChangedItems(), RemovedKeys()
    if after.league != before.league:
        changed.league = after.league
    for name in KEYED:
        old, new = getattr(before, name), getattr(after, name)
        setattr(changed, name, {key: item for key, item in new.items() if old.get(key) != item})
        setattr(removed, name, [key for key in old if key not in new])
    if changed == ChangedItems() and removed == RemovedKeys():
        return None
    return Change(seq=after.seq, now=after.now, set=changed, drop=UNSET if removed == RemovedKeys() else removed)
