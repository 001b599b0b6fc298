// The front page: before the league begins, while it is played, and when it is over.

import { h, linked, show, withNamesAndIds } from "./elements.js";
import { highlights, inPlay, next, own, results, withMatches } from "./cards.js";
import { lazy } from "./reader.js";
import { podium, reason, standings } from "./standings.js";
import { countdown, formatOf, gameOf, isAhead, moment, plural, stateOf, zoned } from "./words.js";

export const title = (live) => live.league.title;
export const isLive = true;

const lobby = lazy(() => import("./lobby.js"));
const pairings = lazy(() => import("./pairings.js"));

const MAX_EVENTS = 8;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export function render(main, live) {
  const before = rowPositions(main);
  const rows = Object.values(live.standings).sort((one, other) => one.rank - other.rank);
  const { state } = live.league;
  const isOver = state === "LEAGUE_COMPLETED";
  show(main, opening(live, rows), state === "WAITING_FOR_REGISTRATIONS" ? lobby()?.lobby(live, rows) : [
    isOver && ending(live, rows),
    own(live),
    !isOver && inPlay(live),
    // The round that was drawn last says little when it is over.
    !(isOver && live.league.view === "rounds") && Object.keys(live.pairings).length > 0 && pairings()?.pairings(live),
    h(
      "div.front",
      isOver && standings(live, rows),
      h("div.side", !isOver && next(live), results(live)),
      !isOver && standings(live, rows),
      news(live, rows),
    ),
  ]);
  if (!reducedMotion.matches) animateRows(main, before);
}

function opening(live, rows) {
  const { league } = live;
  const { champion, state } = league;
  const isOpen = state === "WAITING_FOR_REGISTRATIONS";
  // What a match in play waits for is shown there.
  const waits = league.waits_for.filter((what) => !(what.match(/ in (R\d+M\d+): /)?.[1] in live.playing));
  // The number of games in a bracket is not known before its end.
  const rounds = league.view === "bracket" && league.round_label
    ? !champion && league.round_label
    : league.total_rounds > 0 && `round ${league.round} of ${league.total_rounds}`;
  return h(
    "section.opening",
    { "aria-labelledby": "heading" },
    h("h1", { id: "heading", tabindex: "-1" }, h("bdi", league.title)),
    h(
      "p.soft",
      h("strong", stateOf(league)),
      ` · ${gameOf(league.game)}`,
      league.format && ` · ${formatOf(league.format)}`,
      rounds && ` · ${rounds}`,
      !isOpen && ` · ${plural(league.players, "player")}`,
      league.ended_at && [" · ended ", zoned(league.ended_at)],
    ),
    !isOpen && !champion && league.total_matches > 0 &&
      h(
        "p.progress",
        h("progress", { max: allMatches(league), value: league.matches_played, "aria-label": "Matches played" }),
        h(
          "span",
          `${league.matches_played} of ${plural(league.total_matches, "match", "matches")}`,
          league.draws_more && ", and more rounds follow",
        ),
        notice(league),
      ),
    champion && h("p.champion", linked(league.first, champion, ...rows)),
    champion && h("p", reason(league, rows)),
    !champion && league.first && h("p.lead", h("strong", linked(league.first, ...rows), "."), " ", reason(league, rows)),
    !isOpen && waits.length > 0 && h(
      "p.notice",
      "Waits for ",
      waits.map((what, place) => [place > 0 && "; ", withMatches(what, live)]),
    ),
  );
}

// Rounds that are drawn later have as many matches as those that were drawn.
const allMatches = ({ draws_more: drawsMore, view, round, total_rounds: rounds, total_matches: matches }) =>
  drawsMore && view !== "bracket" && round > 0 ? Math.max(matches, Math.round((matches / round) * rounds)) : matches;

function notice({ paused, round, starts_at: starts }) {
  // A league that was announced does not begin before the operator lets it.
  if (paused) return h("span.notice", "The league is paused by its operator");
  return starts && isAhead(starts) && h("span.notice", `Round ${round} begins in `, countdown(starts), ", at ", moment(starts));
}

const ending = (live, rows) => h(
  "div.ending",
  h(
    "section",
    { "aria-labelledby": "places" },
    h("h2", { id: "places" }, "The first places"),
    podium(rows),
    h(
      "p.more",
      live.league.has_report && h("a", { href: "report" }, "The report"),
      h("a", { href: "#/rounds" }, "All matches, to be replayed"),
      h("a", { href: "#/cross" }, "Everybody against everybody"),
      h("a", { href: "#/figures" }, "What the table means"),
    ),
  ),
  highlights(live),
);

function news(live, rows) {
  const latest = Object.values(live.news).sort((one, other) => other.number - one.number);
  return h(
    "section.news",
    { "aria-labelledby": "news" },
    h("h2", { id: "news" }, "Events"),
    h("ol.log", { reversed: true }, latest.slice(0, MAX_EVENTS).map((one) => event(one, [...rows, ...Object.values(live.agents)]))),
  );
}

// An event with the names of these agents.
export const event = (one, agents) =>
  h(
    "li",
    { "data-key": one.number, class: one.by_operator ? "operator" : null },
    h("span.soft.small", moment(one.at)),
    " ",
    one.by_operator && h("span.chip", "operator"),
    " ",
    // The event of a registration has the name already, at its end.
    h(
      "span",
      { dir: "auto" },
      one.event.endsWith("Registered")
        ? one.text.replace(/^(\w+) (is \w+): (.*)$/s, "$3 ($1) $2")
        : withNamesAndIds(one.text, ...agents),
    ),
  );

// Rows move smoothly to their new positions.
function rowPositions(main) {
  return new Map([...main.querySelectorAll("tbody tr[data-key]")].map((row) => [row, row.offsetTop]));
}

function animateRows(main, before) {
  const moved = [];
  for (const [row, top] of before) {
    const by = top - row.offsetTop;
    if (row.isConnected && Math.abs(by) > 1) moved.push([row, by]);
  }
  for (const [row, by] of moved) {
    row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 500, easing: "ease-out" });
  }
}
