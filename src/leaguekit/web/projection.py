"""The public projection of a league: what everybody may see of its events and its state, and how that changes.

It follows the events in order, beside the league that they are folded into, and keeps only what that state does not:
news, the latest results, which events are about which match, and what became of requests to players.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from itertools import islice
from typing import Protocol

from msgspec import UNSET

from leaguekit.games import GAMES
from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.records import Player, Referee
from leaguekit.league.rounds import available_referees
from leaguekit.league.sentences import sentence
from leaguekit.league.standings import Table
from leaguekit.league.state import League
from leaguekit.league.ties import PlacedRow, describe_order, first_place, placed_rows, tie_sentences
from leaguekit.protocol import times
from leaguekit.protocol.messages import MatchProgress
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.web import rows
from leaguekit.web.api_types import Champion, Change, ChangedItems, LeagueView, Live, NewsItem, RemovedKeys, StandingRow
from leaguekit.web.evidence_counts import EvidenceCountsByPlayer

# What is streamed is bounded, whatever the league's size; pages have the rest.
MAX_STANDINGS = 100
MAX_PLAYING = 200
LATEST = 20
# So many of the operators' acts are remembered, whatever else happened since.
MAX_OPERATIONS = 100
MAX_TIES = 5
KEYED = ("standings", "playing", "results", "agents", "news")

_BY_OPERATOR = (
    e.SeatsIssued,
    e.SeatRevoked,
    e.RefereeCodeSet,
    e.TokenVoided,
    e.LeaguePaused,
    e.LeagueResumed,
    e.PlayerWithdrawn,
    e.PlayerDisqualified,
    e.MatchReplayed,
    e.ResultCorrected,
)
# A busy league has very many of these, and they are seen elsewhere.
_NO_NEWS = (e.MatchAssigned, e.ResultRecorded, e.FailuresCounted, e.FormLearned, e.RulesBroken)


def news_item(number: int, event: e.Event) -> NewsItem:
    """An event in words that give no address away."""
    agent = getattr(event, "player_id", None) or getattr(event, "referee_id", None) or getattr(event, "agent_id", None)
    return NewsItem(
        number=number,
        at=event.at,
        event=type(event).__name__,
        text=remove_addresses(sentence(event)),
        match_id=getattr(event, "match_id", None),
        agent_id=agent,
        by_operator=isinstance(event, _BY_OPERATOR) or getattr(event, "by_operator", False),
    )


class ConductorStatus(Protocol):
    """What is known of a league in play beside its events: how its matches stand, and when it is to start."""

    progress: dict[str, MatchProgress]
    start_when: tuple[int, int] | None
    start_at: str | None

    @property
    def waits_for(self) -> list[str]: ...


class Projection:
    """What is public of a league. ``take`` every event after the league has taken it, from the first on."""

    def __init__(self, league: League, conductor: ConductorStatus | None = None) -> None:
        self.league = league
        self.number = 0
        self.tallies = EvidenceCountsByPlayer()
        self.announced_at: dict[int, str] = {}
        self._conductor = conductor
        self._at: dict[type[e.Event], str] = {}
        self._latest: deque[str] = deque(maxlen=LATEST)
        self._news: deque[NewsItem] = deque(maxlen=LATEST)
        self.operations: deque[NewsItem] = deque(maxlen=MAX_OPERATIONS)
        self._stories: dict[str, tuple[int, ...]] = {}
        # The table as it was when all rounds before the latest one were over.
        self._before: Table | None = None
        self._rounds_before = 0
        self._placed: list[PlacedRow] = []
        self._placed_from: object = None

    def take(self, number: int, event: e.Event) -> None:
        self.number = number
        match event:
            case e.LeagueCreated() | e.LeagueStarted() | e.LeagueCompleted():
                self._at[type(event)] = event.at
            case e.RoundAnnounced():
                self.announced_at[event.round_id] = event.at
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected() | e.MatchReplayed():
                self._settle(event)
            case e.FailuresCounted() if event.in_a_row:
                self.tallies.of(event.player_id).missed += 1
        if (match_id := getattr(event, "match_id", None)) is not None:
            self._stories[match_id] = (*self._stories.get(match_id, ()), number)
        if not isinstance(event, _NO_NEWS):
            news = news_item(number, event)
            self._news.append(news)
            if news.by_operator:
                self.operations.append(news)

    def _settle(self, event: e.ResultRecorded | e.MatchForfeited | e.ResultCorrected | e.MatchReplayed) -> None:
        if isinstance(event, e.ResultRecorded):
            self.tallies.take(event)
        if self.league.matches[event.match_id].round_id <= self._rounds_before:
            # A round that was over has changed.
            self._before = None
        if event.match_id in self._latest:
            self._latest.remove(event.match_id)
        if not isinstance(event, e.MatchReplayed):
            self._latest.append(event.match_id)

    def story(self, match_id: str) -> tuple[int, ...]:
        """The numbers of the events that are about a match."""
        return self._stories.get(match_id, ())

    # The table

    def ranks_before(self) -> dict[str, int]:
        """Everybody's rank before the latest round of which anything is known; nothing if that was the first."""
        league = self.league
        wanted = league.current_round - 1
        while wanted > 0 and league.rounds[wanted].remaining == len(league.rounds[wanted].matches):
            wanted -= 1
        if wanted < 1:
            return {}
        if self._before is None or self._rounds_before > wanted:
            self._before, self._rounds_before = league.new_table(), 0
        for row in league.table.rows.values():
            if row.player_id not in self._before.rows:
                self._before.add_player(row.player_id, row.display_name)
        while self._rounds_before < wanted:
            for name in league.rounds[self._rounds_before].matches:
                if (result := league.matches[name].result) is not None:
                    self._before.count(result)
            self._rounds_before += 1
        return {name: row.rank for name, row in self._before.standings().items()}

    def standings(self, offset: int = 0, limit: int = MAX_STANDINGS) -> list[StandingRow]:
        """Part of the table, with movement."""
        before, rows = self.ranks_before(), self.placed_rows()[offset : offset + limit]
        return [rows.standing_row(self.league, row, before.get(row.player_id)) for row in rows]

    def placed_rows(self) -> list[PlacedRow]:
        """The whole table; made once after each change."""
        standings = self.league.table.standings()
        if standings is not self._placed_from:
            self._placed_from, self._placed = standings, placed_rows(self.league.table)
        return self._placed

    # The whole

    def league_view(self) -> LeagueView:
        league = self.league
        status, settings = queries.status(league), league.settings
        is_over = league.state == "LEAGUE_COMPLETED"
        game = GAMES.get(settings.game_type)
        first = queries.champion(league) if is_over else None
        rows = self.placed_rows()
        return LeagueView(
            league_id=settings.league_id,
            game_type=settings.game_type,
            pure_chance=game is not None and game.pure_chance,
            state=league.state,
            paused=league.paused,
            round=status.current_round,
            total_rounds=status.total_rounds,
            matches_played=status.matches_played,
            total_matches=status.total_matches,
            players=status.players,
            referees=status.referees,
            starts_at=self._starts_at(),
            waits_for=self._waits_for(),
            created_at=self._at.get(e.LeagueCreated),
            started_at=self._at.get(e.LeagueStarted),
            ended_at=self._at.get(e.LeagueCompleted),
            champion=None
            if first is None
            else Champion(id=first.player_id, name=first.display_name or first.player_id, points=first.points),
            seed_hex=settings.seed_hex if is_over else None,
            seed_commitment=settings.seed_commitment,
            order=describe_order(settings.tie_breaks),
            first=first_place(rows, is_over=is_over) if status.matches_played else None,
            ties=tie_sentences(rows, settings.tie_breaks, MAX_TIES),
        )

    def _starts_at(self) -> str | None:
        """When the league begins; or the round that was announced last, if none of its matches has."""
        league = self.league
        if league.is_open:
            return None if self._conductor is None else self._conductor.start_at
        announced = self.announced_at.get(league.current_round)
        if announced is None or not league.round_in_play or not league.settings.announce_lead:
            return None
        if any(league.matches[name].attempt for name in league.rounds[league.current_round - 1].matches):
            return None
        begins = times.parse_timestamp(announced).timestamp() + league.settings.announce_lead
        return times.format_timestamp(datetime.fromtimestamp(begins, tz=times.parse_timestamp(announced).tzinfo))

    @property
    def halted_by(self) -> list[str]:
        """What the league waits for that is not in its events."""
        return [] if self._conductor is None else self._conductor.waits_for

    def _waits_for(self) -> list[str]:
        starting = self._waits_to_start() if self.league.is_open else []
        return [*starting, *queries.waits_for(self.league), *self.halted_by]

    def _waits_to_start(self) -> list[str]:
        league = self.league
        when, at = (None, None) if self._conductor is None else (self._conductor.start_when, self._conductor.start_at)
        if when is None:
            return [] if at is not None else ["the operator: `league start`"]
        here = (len(league.table.rows), len(available_referees(league)))
        missing = [
            (kind, wanted - known) for kind, known, wanted in zip(("player", "referee"), here, when, strict=True)
        ]
        return [f"{count} more {kind}{'s' if count > 1 else ''}" for kind, count in missing if count > 0]

    def live(self, now: datetime) -> Live:
        """All that is streamed, as it stands."""
        league = self.league
        standings = {row.id: row for row in self.standings()}
        progress = {} if self._conductor is None else self._conductor.progress
        playing = (name for referee in league.referees.values() for name in referee.assigned_matches)
        agents: list[Player | Referee] = [*league.referees.values(), *(league.players[name] for name in standings)]
        return Live(
            seq=self.number,
            now=_precisely(now),
            league=self.league_view(),
            standings=standings,
            playing={
                name: rows.in_play(league, league.matches[name], progress.get(name))
                for name in islice(playing, MAX_PLAYING)
            },
            results={name: rows.match_row(league, league.matches[name]) for name in self._latest},
            agents={agent.id: rows.agent_row(agent) for agent in agents},
            news={str(one.number): one for one in self._news},
        )


def _precisely(moment: datetime) -> str:
    """With milliseconds, for a page that counts down."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def change(before: Live, after: Live) -> Change | None:
    """What has to be done to one state to make it the other; None if nothing."""
    parts, gone = ChangedItems(), RemovedKeys()
    if after.league != before.league:
        parts.league = after.league
    for name in KEYED:
        old, new = getattr(before, name), getattr(after, name)
        setattr(parts, name, {key: item for key, item in new.items() if old.get(key) != item})
        setattr(gone, name, [key for key in old if key not in new])
    if parts == ChangedItems() and gone == RemovedKeys():
        return None
    return Change(seq=after.seq, now=after.now, set=parts, drop=UNSET if gone == RemovedKeys() else gone)
