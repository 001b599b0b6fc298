// The front page: the current state of the league, live.

import { h, linked, matchLink, name, show, table, withNames, withNamesAndIds, screenReaderText, agentLabel } from "./elements.js";
import { pairings } from "./pairings.js";
import { drawing } from "./pictures.js";
import {
  agentState,
  countdown,
  gameOf,
  isAhead,
  moment,
  movement,
  payoffText,
  plural,
  score,
  stageOf,
  stateOf,
  timeLeft,
} from "./words.js";

export const title = (live) => live.league.title;
export const isLive = true;

const MAX_ITEMS = 8;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export function render(main, live) {
  const before = rowPositions(main);
  const rows = Object.values(live.standings).sort((one, other) => one.rank - other.rank);
  main.style.setProperty("--rows", Math.max(4, rows.length));
  show(
    main,
    opening(live.league, rows),
    pairings(live),
    h("div.front", standings(live.league, rows), h("div.side", inPlay(live), results(live), news(live))),
  );
  if (!reducedMotion.matches) animateRows(main, before);
}

function opening(league, rows) {
  const { champion, waits_for: waits } = league;
  const numbered = league.total_rounds ? `round ${league.round} of ${league.total_rounds}` : "no schedule yet";
  // The number of games in a bracket is not known before its end.
  const rounds = league.view === "bracket" && league.round_label ? !champion && league.round_label : numbered;
  return h(
    "section.opening",
    { "aria-labelledby": "heading" },
    h("h1", { id: "heading", tabindex: "-1" }, h("bdi", league.title)),
    h(
      "p.soft",
      h("strong", stateOf(league)),
      ` · ${gameOf(league.game)}`,
      rounds && ` · ${rounds}`,
      ` · ${plural(league.players, "player")}, ${plural(league.referees, "referee")}`,
    ),
    league.total_matches > 0 &&
      h(
        "p.progress",
        h("progress", { max: league.total_matches, value: league.matches_played, "aria-label": "Matches played" }),
        h(
          "span",
          `${league.matches_played} of ${plural(league.total_matches, "match", "matches")}`,
          league.draws_more && ", and more rounds follow",
        ),
      ),
    champion && h("p.champion", linked(league.first, champion, ...rows)),
    league.view === "bracket" && league.end_reason && h("p", linked(league.end_reason, ...rows)),
    next(league),
    waits.length > 0 && h("p.notice", "Waits for ", waits.map((what, place) => [place > 0 && "; ", what])),
    league.pure_chance && rows.length > 0 && h(
      "p.soft.small",
      "Chance alone decides which of two players wins this game. ",
      h("a", { href: "#/figures" }, "What the table means"),
    ),
  );
}

// What comes next; while the league is in progress there is always such a line, so that the table stays in its place.
function next({ state, paused, round, starts_at: starts }) {
  if (state === "LEAGUE_COMPLETED") return null;
  // Whatever was announced does not begin before somebody lets it.
  if (paused) return h("p.notice", "The league is paused by its operator");
  if (starts && isAhead(starts)) {
    return h("p.notice", round ? `Round ${round} begins in ` : "The league begins in ", countdown(starts));
  }
  return state === "RUNNING_LEAGUE" && h("p.notice.quiet", `Round ${round} is being played`);
}

function standings(league, rows) {
  const heading = league.champion ? "Final table" : "Standings";
  const hasPayoff = rows.some((row) => row.payoff !== undefined);
  // On a small screen, and beside payoffs, only those tie-breaks have a column that were needed.
  const isNeeded = (value) => league.matches_played > 0 && rows.some((row) => row[value] !== null);
  const tieBreaks = league.tie_breaks.filter((one) => one in TIE_BREAKS && (!hasPayoff || isNeeded(one)));
  // They need the room of the movement there.
  const hasTechnical = rows.some((row) => row.technical_losses > 0);
  // With many tie-breaks, an empty column would take the room of the names.
  const showsTechnical = hasTechnical || tieBreaks.length < 3;
  const shown = rows.map((row) => ({
    key: row.id,
    kind: row.out || row.state === "SUSPENDED" ? "absent" : null,
    cells: [
      row.shown_rank,
      movement(row.movement),
      [agentLabel(row), " ", (row.out || row.state === "SUSPENDED") && h("span.chip", agentState(row))],
      row.played,
      row.wins,
      row.draws,
      row.losses,
      ...(showsTechnical ? [row.technical_losses || ""] : []),
      ...tieBreaks.map((tieBreak) => row[tieBreak] ?? ""),
      row.points,
      ...(hasPayoff ? [payoffText(row.payoff)] : []),
    ],
  }));
  const more = league.players - rows.length;
  return h(
    "section.standings",
    { "aria-labelledby": "standings" },
    h("h2", { id: "standings" }, heading),
    rows.length === 0
      ? h("p.soft", "Nobody has registered yet.")
      : table(
          heading,
          [
            [screenReaderText("Rank"), "n"],
            [screenReaderText("Moved since the last round"), hasTechnical ? "moved less" : "moved"],
            ["Player", "who"],
            ["Played", "n less"],
            [short("W", "on"), "n"],
            [short("D", "rawn"), "n"],
            [short("L", "ost"), "n"],
            ...(showsTechnical
              ? [[h("span", { title: "Of those lost, without play" }, "Tech."), hasTechnical ? "n" : "n less"]]
              : []),
            ...tieBreaks.map((tieBreak) => [
              h("abbr", { title: TIE_BREAKS[tieBreak][1] }, TIE_BREAKS[tieBreak][0]),
              isNeeded(tieBreak) ? "n" : "n less",
            ]),
            [short("P", "oin", "ts"), hasPayoff ? "n less" : "n points"],
            ...(hasPayoff ? [["Payoff", "n points"]] : []),
          ],
          shown,
          { kind: "table", headed: 2, hidden: true },
        ),
    rows.length > 0 && decisions(league, rows),
    more > 0 && h(
      "p.soft",
      `${plural(more, "more player")} further down: `,
      h("a", { href: "#/agents" }, "all agents"),
    ),
  );
}

// The tie-breaks with a column: its head, and what it means.
const TIE_BREAKS = {
  buchholz: ["BH", "Buchholz: the points of all opponents"],
  head_to_head: ["H2H", "Head-to-head: points in the matches among the players with equal points"],
  sonneborn_berger: [
    "SB",
    "Sonneborn–Berger: the points of beaten opponents, and half the points of those drawn with",
  ],
};

// What decided between players with equal points, and what can.
const decisions = (league, rows) => [
  league.ranked_by && h("p.small", league.ranked_by),
  league.ties.map((sentence) => h("p.small", withNames(sentence, ...rows))),
  h(
    "details.small.soft",
    h("summary", "How the order is decided"),
    h("p", `By ${league.order}. `, league.tie_breaks.length > 0 && "H2H and SB are shown only where they were needed."),
    league.tie_breaks.filter((one) => one in TIE_BREAKS).map((one) => h("p", `${TIE_BREAKS[one][1]}.`)),
    league.tie_breaks.length > 0 && h("p", "Players who are equal in all of that share a rank, written 1=."),
    h("p", "SHA-256 of the seed, from which draws and lots are made: ", h("code.hash", league.seed_commitment)),
    league.seed_hex && h("p", "The seed: ", h("code.hash", league.seed_hex)),
  ),
];

// A heading that is short where there is little room.
const short = (head, middle, tail = "") => [head, h("span.less", middle), tail];

function inPlay(live) {
  const matches = Object.values(live.playing).sort(
    (one, other) => one.match_id.localeCompare(other.match_id, "en", { numeric: true }),
  );
  const more = matches.length - MAX_ITEMS;
  return h(
    "section.playing",
    { "aria-labelledby": "playing" },
    h("h2", { id: "playing" }, "In play", matches.length > 0 && h("span.count", matches.length)),
    matches.length === 0
      ? h("p.soft", "No match at the moment.")
      : h("ul.cards", matches.slice(0, MAX_ITEMS).map(playing)),
    more > 0 && h("p.soft.small", `and ${plural(more, "more match", "more matches")}`),
  );
}

function playing(match) {
  return h(
    "li",
    { "data-key": match.match_id },
    h("p.pair", matchLink(match.match_id), " ", name(match.a.name), h("span.soft", " – "), name(match.b.name)),
    h(
      "p.soft.small",
      stageOrMissing(match),
      timeLeft(match),
      match.attempt > 1 && `, attempt ${match.attempt}`,
    ),
    match.picture && boardOf(match.picture, match),
  );
}

// The picture of a match, with the names of its players.
export const boardOf = (picture, { a, b }) => drawing(picture, { named: (text) => withNames(text, a, b) });

// A match that waits for one player says for whom.
export const stageOrMissing = (match) => {
  const missing = [match.a, match.b].filter((agent) => match.missing.includes(agent.id));
  return missing.length === 1 ? ["waits for ", name(missing[0].name)] : stageOf(match.stage);
};

function results(live) {
  const matches = Object.values(live.results).sort(
    (one, other) =>
      other.ended_at.localeCompare(one.ended_at) ||
      other.match_id.localeCompare(one.match_id, "en", { numeric: true }),
  );
  return h(
    "section.results",
    { "aria-labelledby": "results" },
    h("h2", { id: "results" }, "Latest results"),
    matches.length === 0
      ? h("p.soft", "None yet.")
      : h("ul.cards", matches.slice(0, MAX_ITEMS).map(result)),
  );
}

export function result(match) {
  const side = (agent) => h("span", { class: match.winner === agent.id ? "winner" : null }, name(agent.name));
  return h(
    "li",
    { "data-key": match.match_id, class: match.result === "TECHNICAL_LOSS" ? "technical" : null },
    h("p.pair", matchLink(match.match_id), " ", side(match.a), h("span.score", ` ${score(match)} `), side(match.b)),
    h(
      "p.soft.small",
      withNames(match.reason, match.a, match.b),
      match.decided_by !== "referee" && ` (decided by the ${match.decided_by})`,
    ),
  );
}

function news(live) {
  const latest = Object.values(live.news).sort((one, other) => other.number - one.number);
  return h(
    "section.news",
    { "aria-labelledby": "news" },
    h("h2", { id: "news" }, "Events"),
    h("ol.log", { reversed: true }, latest.slice(0, MAX_ITEMS).map((one) => event(one, Object.values(live.standings)))),
  );
}

// An event with the names of these players. The event of a registration has the name already.
export const event = (one, agents) =>
  h(
    "li",
    { "data-key": one.number, class: one.by_operator ? "operator" : null },
    h("span.soft.small", moment(one.at)),
    " ",
    one.by_operator && h("span.chip", "operator"),
    " ",
    h(
      "span",
      { dir: "auto" },
      one.event === "PlayerRegistered" ? one.text : withNamesAndIds(one.text, ...agents),
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
