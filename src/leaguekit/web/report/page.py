"""The report of a league: one HTML page without further files, to be mailed, printed, or put on any web server.

It has no scripts, and its content security policy forbids it to load anything. Texts of agents are escaped. The same
league gives the same page.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import UNSET

import leaguekit
from leaguekit.games import find_game
from leaguekit.games.pictures import game_picture, name_players
from leaguekit.league.analysis.figures import Figures, Mark, Meeting, PlayerFigures, signed
from leaguekit.league.pairings import Pairing, Stage, advancement, points_before, stages, tally, view_of
from leaguekit.league.problems import find_problems
from leaguekit.league.records import Match
from leaguekit.league.settings import heading
from leaguekit.league.state import League
from leaguekit.league.ties import first_place, payoff_sentence, payoff_text, score_text
from leaguekit.protocol.messages import MatchTranscript, MoveOrigins
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.tokens import redact
from leaguekit.web.api_types import MatchRow
from leaguekit.web.matches import game_steps, public_messages
from leaguekit.web.page_types import Message
from leaguekit.web.report.charts import MAX_COLOURED, RatingScale, points_chart
from leaguekit.web.report.drawings import drawing
from leaguekit.web.report.markup import escape_text, insert_names, isolate_name
from leaguekit.web.report.style import STYLE
from leaguekit.web.rows import match_row, refused_row

# Characters of all replays together, and of all drawings together. Those of 50 players' 1,225 matches on a board of
# nine cells take 1.2 million and 0.9 million. The rows of 100 players' 4,950 matches take 2.4 million. The page should
# be smaller than 5 MB, because a larger one is slow on a phone.
MAX_REPLAYS = 1_250_000
MAX_DRAWINGS = 950_000
# The head of a page that needs no other file, and that of a page which a server sends with a policy of its own.
EMBEDDED_STYLE = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    f"<style>{STYLE}</style>"
)
LINKED_STYLE = '<link rel="stylesheet" href="report.css"><link rel="icon" href="static/icon.svg">'
_CLASSES = {"1": "w", "+": "w", "½": "d", "0": "l", "-": "l"}
_DIRECTIONS = {"sent": "to  ", "received": "from", "failed": "fail", "ruled": "rule"}
_UNPLAYED = {"in_play": "in play", "held": "waits for the operator", "waiting": "waits", "scheduled": "not played yet"}
_STATES = {
    "WAITING_FOR_REGISTRATIONS": "waiting for registrations",
    "CREATING_SCHEDULE": "the schedule is being made",
    "RUNNING_LEAGUE": "in progress",
    "LEAGUE_COMPLETED": "completed",
}


class _TieColumn(NamedTuple):
    """A tie-break as a column of the table."""

    head: str
    title: str
    value: Callable[[PlayerFigures], str]


_TIE_COLUMNS: dict[str, _TieColumn] = {
    "buchholz": _TieColumn(
        "BH",
        "Buchholz: the points of all opponents",
        lambda line: "" if line.buchholz is None else str(line.buchholz),
    ),
    "head_to_head": _TieColumn(
        "h2h",
        "head-to-head: points in the matches among the players with equal points",
        lambda line: "" if line.head_to_head is None else str(line.head_to_head),
    ),
    "sonneborn_berger": _TieColumn(
        "SB",
        "Sonneborn–Berger: the points of beaten opponents, half of those drawn with",
        lambda line: score_text(line.sonneborn_berger),
    ),
}


class Period(NamedTuple):
    """The times of the first and of the last event of a league."""

    since: str
    until: str


class ReportedMatch(NamedTuple):
    """A match, the reason if the operator or the manager decided it, and its referee's transcript."""

    match: Match
    why: str | None = None
    transcript: MatchTranscript | None = None


class Report:
    """Makes the page match by match, so that not all transcripts of a long league are in memory at once."""

    def __init__(self, league: League, figures: Figures, period: Period, files: Iterable[str]) -> None:
        self._league, self._figures, self._period, self._files = league, figures, period, list(files)
        self._names = {line.player_id: line.display_name for line in figures.lines}
        # The tie-breaks that were needed and have no column otherwise, in the order of the league.
        columns = [_TIE_COLUMNS[name] for name in league.settings.tie_breaks if name in _TIE_COLUMNS]
        self._tie_columns = [
            column for column in columns if figures.played and any(column.value(line) for line in figures.lines)
        ]
        self._game = find_game(league.settings.game_name)
        self._replay_budget, self._drawing_budget = MAX_REPLAYS, MAX_DRAWINGS
        self._points: Mapping[str, int] | None = None
        # The first match whose replay exceeded the budget. It and all later ones have none.
        self.full_from: str | None = None

    async def page(self, matches: AsyncIterable[ReportedMatch], style: str = EMBEDDED_STYLE) -> AsyncIterator[str]:
        """The page, piece by piece."""
        figures = self._figures
        settings = self._league.settings
        title = escape_text(heading(settings.title, settings.league_id))
        yield (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f'<meta name="generator" content="leaguekit {leaguekit.__version__}">'
            f"{style}<title>{title}</title></head><body>\n<header>"
        )
        for piece in (*self._opening(), "</header>\n<main>", *self._pairings(), *self._table(), *self._problems()):
            yield piece
        if figures.round:
            for piece in (*self._charts(), *self._cross_table(), '<h2 id="matches">Matches</h2>'):
                yield piece
            async for piece in self._matches(matches):
                yield piece
        yield f"</main>\n{self._closing()}</body></html>\n"

    def _opening(self) -> Iterator[str]:
        figures = self._figures
        yield f'<p class="soft">{escape_text(self._league.settings.game_name)} · {_STATES[figures.state]}</p>'
        yield f"<h1>{'' if self._league.settings.title else 'League '}<bdi>{escape_text(figures.title)}</bdi></h1>"
        rounds = f"round {figures.round} of {figures.rounds}" if figures.rounds else "no rounds yet"
        matches = f"{figures.played:,} of {figures.matches:,} matches"
        yield f'<p class="soft">{len(figures.lines)} players, {rounds}, {matches}; '
        yield f"from {_moment(self._period.since)} to {_moment(self._period.until)}.</p>"
        yield f'<p class="soft">{insert_names(advancement(self._league), self._names)}</p>'
        if figures.round:
            links = {"bracket": "Bracket"} if self._has_bracket else {}
            links |= {"gauntlet": "Gauntlet"} if view_of(self._league) == "challengers" else {}
            links |= {"standings": "Table", "rounds": "Points over the rounds", "cross": "Everybody against everybody"}
            links |= {"matches": "Matches", "about": "How to read it"}
            items = "".join(f'<a href="#{anchor}">{label}</a>' for anchor, label in links.items())
            yield f"<nav>{items}</nav>"
        is_over = figures.state == "LEAGUE_COMPLETED"
        if figures.played and (is_over or not self._has_bracket):
            first = first_place(figures.lines, is_over=is_over, by_points=not self._league.table.ranking)
            yield f'<p class="champion">{insert_names(first, self._names)}</p>'
        if self._has_bracket and self._league.end_reason:
            yield f"<p>{insert_names(self._league.end_reason, self._names)}</p>"
        sentences = "".join(f"<p>{insert_names(sentence, self._names)}</p>" for sentence in figures.sentences)
        yield f'<section class="meaning" aria-label="What the figures mean">{sentences}</section>'

    @cached_property
    def _has_bracket(self) -> bool:
        return view_of(self._league) == "bracket"

    def _pairings(self) -> Iterator[str]:
        if self._has_bracket:
            yield from self._bracket()
        elif view_of(self._league) == "challengers":
            yield '<h2 id="gauntlet">Gauntlet</h2>'
            yield from map(self._challenger, stages(self._league))

    def _challenger(self, stage: Stage) -> str:
        """What a challenger made of the matches against each of the others."""
        results: list[Mark] = []
        items = ""
        for pairing in stage.pairings:
            played = [(match.id, marks[0]) for match in pairing.matches if (marks := pairing.marks(match))]
            results += [mark for _, mark in played]
            links = "".join(f' <a href="#{name}">{mark.replace("-", "−")}</a>' for name, mark in played)
            items += f"<li><span>{insert_names(pairing.b, self._names)}</span>{links or '·'}</li>\n"
        return (
            f"<h3>{insert_names(stage.label, self._names)}</h3><p>{tally(results)}</p>"
            f'<ol class="opponents">{items}</ol>'
        )

    def _bracket(self) -> Iterator[str]:
        """The stages of the bracket beside each other, and under each other on a small screen."""
        yield '<h2 id="bracket">Bracket</h2><div class="wide"><div class="stages">'
        for stage in stages(self._league):
            yield f"<section><h3>{escape_text(stage.label)}</h3><ol>\n"
            yield from map(self._place, stage.pairings)
            yield "</ol></section>"
        yield "</div></div>"

    def _place(self, pairing: Pairing) -> str:
        """A pairing of the bracket: each player with its result of each game, and the one that advances in bold."""
        notes = [pairing.title] if pairing.title else []
        notes += ["advances without a match"] if pairing.alone else []
        notes += ["decided by the league’s lot"] if pairing.by_lot else []
        sides = [self._rival(pairing, 0)] + ([] if pairing.alone else [self._rival(pairing, 1)])
        text = "".join(f'<p class="soft small">{note}</p>' for note in notes)
        return f"<li>{''.join(sides)}{text}</li>\n"

    def _rival(self, pairing: Pairing, side: int) -> str:
        player = (pairing.a, pairing.b)[side]
        if player is None:
            return '<p class="soft">not known yet</p>'
        played = ((match.id, pairing.marks(match)) for match in pairing.matches)
        marks = "".join(f' <a href="#{name}">{marks[side].replace("-", "−")}</a>' for name, marks in played if marks)
        label = f'{isolate_name(self._names[player])} <span class="id">{player}</span>'
        wins = " class=winner" if pairing.winner == player and not pairing.alone else ""
        return f"<p{wins}><span>{label}</span>{marks}</p>"

    def _round_heading(self, round_id: int) -> str:
        """The heading of a round, which unfolds it, and who has a bye."""
        round_ = self._league.rounds[round_id - 1]
        title = f"Round {round_id}"
        if round_.label not in ("", title):
            title += f": {escape_text(round_.label)}"
        played = len(round_.matches) - round_.remaining
        count = "1 match" if len(round_.matches) == 1 else f"{len(round_.matches)} matches"
        if round_.remaining:
            count += f", {played} played"
        byes = ", ".join(insert_names(player, self._names) for player in round_.byes)
        bye = f'<p class="soft">A bye, which counts as a win: {byes}</p>' if byes else ""
        return (
            f'<details class="round" id="round-{round_id}"><summary><h3>{title}</h3> '
            f'<span class="soft">{count}</span></summary>{bye}'
        )

    def _table(self) -> Iterator[str]:
        scale = RatingScale(self._figures.lines)
        technical = f'<th class="{self._technical_class}" title="lost technically">tech.</th>'
        ties = "".join(f'<th class="n" title="{title}">{head}</th>' for head, title, _ in self._tie_columns)
        title = "the mean payoff of a match, by which the table is ranked"
        payoff = f'<th class="n" title="{title}">payoff</th>' * self._has_payoffs
        rates = '<th class="n" title="moves that the player chose itself at once">own</th>' * self._shows_rates
        rates += (
            '<th class="n" title="moves for which it stated an illegal move at first">illegal</th>' * self._shows_rates
        )
        ends = f"<span><i>{signed(scale.low)}</i><i>{signed(scale.high)}</i></span>"
        yield (
            f'<h2 id="standings">{"Final table" if self._figures.state == "LEAGUE_COMPLETED" else "Table"}</h2>'
            '<div class="wide"><table class="standings"><thead><tr><th class="n"><s>rank</s></th>'
            '<th title="ranks gained or lost in the last round"><span class="less">moved</span></th><th>player</th>'
            '<th class="n less">played</th><th class="n">w<s>on</s></th><th class="n">d<s>rawn</s></th>'
            f'<th class="n">l<s>ost</s></th>{technical}{ties}<th class="{self._points_class}">p<s>oin</s>ts</th>'
            f'{payoff}<th class="n">rating</th>{rates}<th class="scale less">95 % interval{ends}</th></tr></thead>'
            "<tbody>\n"
        )
        for line in self._figures.lines:
            yield self._standing(line, scale)
        yield "</tbody></table></div>"
        if self._has_payoffs:
            yield f'<p class="small">{payoff_sentence(self._league.settings)}</p>'
        for sentence in self._figures.ties:
            yield f'<p class="small">{insert_names(sentence, self._names)}</p>'
        yield f'<p class="soft small">Order: {escape_text(self._figures.order)}.</p>'
        yield from self._moves()

    @cached_property
    def _shows_rates(self) -> bool:
        """Where all moves are the players' own, the rates say nothing."""
        return any(line.own_rate not in (None, 1.0) or line.illegal_rate for line in self._figures.lines)

    @property
    def _has_payoffs(self) -> bool:
        return self._league.settings.payoff_range is not UNSET

    @property
    def _points_class(self) -> str:
        """Small screens do without points, if the table is ranked by payoff."""
        return "n less" if self._has_payoffs else "n"

    @cached_property
    def _technical_class(self) -> str:
        """Small screens do without technical losses, unless they decided."""
        return "n" if any(line.decided_by == "technical_losses" for line in self._figures.lines) else "n less"

    def _moves(self) -> Iterator[str]:
        """Where moves came from, of players that state it."""
        found = self._league.move_origins
        if not found:
            return
        items = "".join(
            f"<li>{insert_names(player, self._names)}: {escape_text(_public_origins(found[player]))}</li>"
            for player in found
        )
        summary = "Where moves came from, by the agents’ own statement"
        yield f"<details><summary>{summary}</summary><ul>{items}</ul></details>"

    def _problems(self) -> Iterator[str]:
        """The agents with problems, the worst first, and the refused registrations."""
        found = find_problems(self._league)
        items = [
            f'{isolate_name(one.display_name)} <span class="id">{one.agent_id}</span>: '
            + escape_text(", ".join(one.sentences))
            + (f", no answer since {_moment(one.unreachable_since)}" if one.unreachable_since else "")
            for one in found.agents
        ]
        items += [
            f"{isolate_name(row.name)}: the registration as {row.role} was refused at {_moment(row.at)}: "
            f"{row.code} {escape_text(row.reason)}"
            for row in map(refused_row, found.refused)
        ]
        if items:
            yield (
                '<h2 id="problems">Agents with problems</h2>'
                '<p class="soft small">The worst first. Those that have left come last.</p>'
                f"<ol>{''.join(f'<li>{item}</li>' for item in items)}</ol>"
            )

    def _standing(self, line: PlayerFigures, scale: RatingScale) -> str:
        label = f'{isolate_name(line.display_name)} <span class="id">{line.player_id}</span>'
        counts = f'<td class="n">{line.wins}</td><td class="n">{line.draws}</td><td class="n">{line.losses}</td>'
        counts += f'<td class="{self._technical_class}">{line.technical_losses or ""}</td>'
        counts += "".join(f'<td class="n">{value(line)}</td>' for _, _, value in self._tie_columns)
        payoff = f'<td class="n points">{payoff_text(line.payoff)}</td>' * self._has_payoffs
        rating = "" if line.rating is None else signed(line.rating)
        rates = ""
        if self._shows_rates:
            rates = "".join(f'<td class="n">{_percent(rate)}</td>' for rate in (line.own_rate, line.illegal_rate))
        return (
            f'<tr id="{line.player_id}"><td class="n">{line.shown_rank}</td><td>{_movement(line.movement)}</td>'
            f'<td class="who">{label}</td><td class="n less">{line.played}</td>{counts}'
            f'<td class="{self._points_class}{"" if self._has_payoffs else " points"}">{line.points}</td>{payoff}'
            f'<td class="n">{rating}</td>{rates}<td class="scale less">{scale.bar(line)}</td></tr>\n'
        )

    def _charts(self) -> Iterator[str]:
        yield '<h2 id="rounds">Points over the rounds</h2>'
        if len(self._figures.lines) > MAX_COLOURED:
            yield f'<p class="soft small">The first {MAX_COLOURED} of the table in colours.</p>'
        yield f'<div class="wide">{points_chart(self._figures)}</div>'

    def _cross_table(self) -> Iterator[str]:
        ids = [line.player_id for line in self._figures.lines]
        heads = "".join(
            f'<th scope="col" title="{escape_text(self._names[player])}"><a href="#{player}">{player}</a></th>'
            for player in ids
        )
        yield (
            '<h2 id="cross">Everybody against everybody</h2><p class="soft small">What the player of the row made of '
            "the match: 1 won, ½ drawn, 0 lost, + won and − lost without play. Each is a link to its match.</p>"
            f'<div class="wide"><table class="cross"><thead><tr><th></th>{heads}</tr></thead><tbody>\n'
        )
        for player in ids:
            met = self._figures.cross_table[player]
            cells = "".join(_meetings(met.get(other, []), is_self=player == other) for other in ids)
            label = f'{isolate_name(self._names[player])} <span class="id">{player}</span>'
            yield f'<tr><th scope="row">{label}</th>{cells}</tr>\n'
        yield "</tbody></table></div>"

    async def _matches(self, matches: AsyncIterable[ReportedMatch]) -> AsyncIterator[str]:
        """Each round is folded away. A link to a match unfolds its round."""
        round_id = 0
        async for one in matches:
            if one.match.round_id != round_id:
                yield "</tbody></table></details>" if round_id else ""
                round_id = one.match.round_id
                if self._league.draws_rounds and not self._has_bracket:
                    self._points = points_before(self._league, round_id)
                yield (
                    f'{self._round_heading(round_id)}<table class="matches"><thead><tr><th>match</th>'
                    "<th>players</th><th>result</th><th>how it came</th></tr></thead><tbody>\n"
                )
            yield self._match(one)
        yield "</tbody></table></details>" if round_id else ""
        if self.full_from is not None:
            yield (
                f'<p class="soft">From {self.full_from} on the replays are left out, because they would make the page '
                "too long; <code>league replay STORE MATCH</code> shows them.</p>"
            )

    def _match(self, one: ReportedMatch) -> str:
        row = match_row(self._league, one.match)
        sides = " – ".join(
            f"<span{' class=winner' if player.id == row.winner else ''}>{isolate_name(player.name)} "
            f'<span class="id">{player.id}</span></span>{self._points_before(player.id)}'
            for player in (row.a, row.b)
        )
        score = "" if row.points is None else "{} : {}".format(*row.points)
        cells = (row.match_id, sides, score, self._explanation(one, row))
        return f'<tr id="{row.match_id}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'

    def _points_before(self, player: str) -> str:
        """The points of a player before the round that is written now, if the format draws by them."""
        return "" if self._points is None else f' <span class="soft small">({self._points[player]})</span>'

    def _explanation(self, one: ReportedMatch, row: MatchRow) -> str:
        """The reason for the outcome, a decision of the manager or the operator, the game, and the replay."""
        if one.match.outcome is None:
            return f'<span class="soft">{_UNPLAYED[row.status]}</span>'
        parts = [insert_names(row.reason, self._names)]
        if row.decided_by != "referee":
            why = f": {insert_names(remove_addresses(one.why), self._names)}" if one.why else ""
            parts.append(f"Decided by the {row.decided_by}{why}.")
        played = game_steps(self._league.settings.game_name, one.match.outcome)
        drawn = self._drawing(played[-1].view, row) if played else None
        if drawn is None:
            choices = row.choices or ()
            # The reason of some games has both choices already.
            if not {choice or "" for choice in choices} <= set(re.findall(r"\w+", row.reason or "")):
                parts += [
                    f"{insert_names(player, self._names)}: {escape_text(choice)}"
                    for player, choice in zip((row.a.id, row.b.id), choices, strict=True)
                    if choice is not None
                ]
        explanation = "<br>".join(parts) + self._replay(row.match_id, one.transcript)
        return explanation if drawn is None else f'<div class="drawn">{drawn}<div>{explanation}</div></div>'

    def _drawing(self, view: dict[str, Any], row: MatchRow) -> str | None:
        """The game's picture of the last position.

        None if it has none, if it shows nothing but what the reason and the moves say, or if the page would become too
        long.
        """
        picture = game_picture(self._game, view)
        words = re.findall(r"\w+", f"{row.reason} {row.choices}")
        if picture is None or (
            picture["kind"] == "cards"
            and {card for hand in picture["hands"] for card in hand["cards"]} <= {None, *words}
        ):
            return None
        drawn = drawing(name_players(picture, row.a.id, row.b.id), self._names)
        self._drawing_budget -= len(drawn)
        return drawn if self._drawing_budget >= 0 else None

    def _replay(self, match_id: str, transcript: MatchTranscript | None) -> str:
        if transcript is None or self.full_from is not None:
            return ""
        lines = "\n".join(map(_entry, public_messages(transcript.entries)))
        if len(lines) > self._replay_budget:
            self.full_from = match_id
            return ""
        self._replay_budget -= len(lines)
        attempt = f", attempt {transcript.attempt}" if transcript.attempt > 1 else ""
        return f"<details><summary>Replay{attempt}</summary><pre>{lines}</pre></details>"

    def _closing(self) -> str:
        files = ", ".join(f'<a href="{escape_text(file)}">{escape_text(file)}</a>' for file in self._files)
        files = f"The same in other forms: {files}. " if files else ""
        payoff = "Payoff: the mean of what a player got in its matches. " * self._has_payoffs
        return (
            '<footer id="about"><h2>How to read it</h2>'
            f"<p>Points: 3 for a win, 1 for a draw. {payoff}The rating is fitted over all matches that were played out "
            "(Bradley and Terry’s model with Davidson’s draws and an advantage of side A): 0 is the average of this "
            "league, 400 points more are ten wins for each loss, and ratings of different leagues cannot be compared."
            " The bar is the 95 % interval: a rating can be that far off by chance alone. Technical losses (tech.) "
            "are matches lost without play: they are in the table and not in the rating. The column “moved” has the "
            "ranks that a player gained (▲) or lost (▼) in the last round.</p>"
            f"<p>{files}Made by leaguekit {leaguekit.__version__}.</p></footer>"
        )


def _entry(message: Message) -> str:
    direction = f"{_DIRECTIONS[message.what]} {message.player_id or ''}"
    kind = f"{message.message_type}: " if message.message_type else ""
    return escape_text(f"{message.seconds:7.3f}  {direction:10} {kind}{message.text}".rstrip(": "))


def _public_origins(origins: MoveOrigins) -> str:
    """The counts and the reason as a text, without addresses and tokens."""
    return str(remove_addresses(redact(str(origins))))


def _movement(ranks: int | None) -> str:
    if not ranks:
        return ""
    up = ranks > 0
    title = f"{'up' if up else 'down'} {abs(ranks)}"
    return f'<span class="{"up" if up else "down"}" title="{title}">{"▲" if up else "▼"}{abs(ranks)}</span>'


def _meetings(meetings: list[Meeting], *, is_self: bool) -> str:
    if is_self:
        return '<td class="self"></td>'
    if not meetings:
        return "<td></td>"
    kind = {_CLASSES[meeting.mark] for meeting in meetings}
    links = "".join(f'<a href="#{meeting.match_id}">{meeting.mark.replace("-", "−")}</a>' for meeting in meetings)
    return f'<td class="{kind.pop() if len(kind) == 1 else "d"}">{links}</td>'


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.0f}\u00a0%"


def _moment(at: str) -> str:
    """A time as people read it, in UTC."""
    return escape_text(at.replace("T", " ").replace("Z", " UTC"))
