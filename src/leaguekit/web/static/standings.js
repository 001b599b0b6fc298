// The table: sorted and searched by its reader, with the player that the reader follows.

import { get } from "./data.js";
import { agentLabel, h, linked, name, screenReaderText, table, withNames } from "./elements.js";
import { choose, chosen, follow, followed, isWall, redraw, wallPage } from "./reader.js";
import { MARK_WORDS, agentState, movement, payoffText, plural } from "./words.js";

const MAX_ROWS = 100;
const REFRESH_MS = 5000;
// Everybody asks for the sentence about certainty when a round begins.
const SPREAD_MS = 5000;

export function standings(live, rows) {
  const { league } = live;
  if (league.matches_played === 0) return players(league, rows);
  const heading = league.champion ? "Final table" : "Standings";
  const columns = columnsOf(league, rows);
  const wanted = chosen("find");
  const shown = sorted(found(allRows(live, rows, wanted), wanted), columns);
  const { first, part } = isWall() ? wallPage(shown) : { first: 0, part: shown };
  const more = league.players - rows.length;
  const hasPoints = league.view !== "bracket" && !league.ranked_by;
  return h(
    "section.standings",
    { "aria-labelledby": "standings" },
    h(
      "div.heading",
      h("h2", { id: "standings" }, heading, part.length < shown.length && h(
        "span.count",
        `${first + 1} to ${first + part.length} of ${shown.length}`,
      )),
      tools(wanted),
    ),
    (league.champion || league.view !== "bracket") && certainty(live, rows),
    h("p.small.soft", `The order: ${league.order}.`, hasPoints && " A win is 3 points, a draw 1."),
    wanted && shown.length === 0 && h("p.soft", `No player has “${wanted}” in its name.`),
    shown.length > 0 && table(
      heading,
      columns.map(head),
      part.map((row) => ({
        key: row.id,
        kind: kindOf(row, league),
        cells: columns.map((column) => column.cell(row)),
      })),
      { kind: "table", headed: 2, hidden: true },
    ),
    decisions(league, rows, wanted ? shown : rows),
    more > 0 && !wanted && h(
      "p.soft",
      `${plural(more, "more player")} further down: search for a name, or see `,
      h("a", { href: "#/agents" }, "all agents"),
    ),
  );
}

// Before the first result nobody leads.
const players = (league, rows) => h(
  "section.standings",
  { "aria-labelledby": "standings" },
  h("h2", { id: "standings" }, "Players", h("span.count", league.players)),
  h("p.soft", "The table begins with the first result."),
  people(rows),
  league.players > rows.length && h("p", h("a", { href: "#/agents" }, `All ${league.players} players`)),
);

// The names of players in the order of their registration, and what comes after them.
export const people = (rows, ...more) => h(
  "ul.people",
  [...rows].sort((one, other) => one.id.localeCompare(other.id, "en", { numeric: true })).map((row) =>
    h("li", { "data-key": row.id, class: isAbsent(row) ? "absent" : null }, player(row)),
  ),
  more,
);

const isAbsent = (row) => row.out || row.state === "SUSPENDED";
// In a bracket nobody is the first before its end.
const kindOf = (row, league) => [
  row.rank === 1 && (league.champion || league.first) && "first",
  row.id === followed(league) && "own",
  isAbsent(row) && "absent",
].filter(Boolean).join(" ") || null;

// Columns

// The tie-breaks with a column: its head, and what it means.
const TIE_BREAKS = {
  buchholz: ["BH", "Buchholz: the points of all opponents"],
  head_to_head: ["H2H", "Head-to-head: points in the matches among the players with equal points"],
  sonneborn_berger: [
    "SB",
    "Sonneborn–Berger: the points of beaten opponents, and half the points of those drawn with",
  ],
};

function columnsOf(league, rows) {
  const hasPayoff = rows.some((row) => row.payoff !== undefined);
  // On a small screen, and beside payoffs, only those tie-breaks have a column that were needed.
  const isNeeded = (value) => rows.some((row) => row[value] !== null);
  const tieBreaks = league.tie_breaks.filter((one) => one in TIE_BREAKS && (!hasPayoff || isNeeded(one)));
  const hasTechnical = rows.some((row) => row.technical_losses > 0);
  // The classes of style.css: a number (n), hidden on small screens (less), and on all but wide ones (broad).
  const number = (key, title, style = "n less") => ({ key, title, style, cell: (row) => row[key] ?? "" });
  return [
    {
      key: "rank",
      title: [h("span", { "aria-hidden": "true" }, "#"), screenReaderText("Rank")],
      style: "n",
      cell: (row) => row.shown_rank,
    },
    {
      title: screenReaderText("Moved since the last round"),
      style: "moved less",
      cell: (row) => movement(row.movement),
    },
    {
      key: "name",
      title: "Player",
      style: "who",
      // A small screen has no room for a column of the form.
      cell: (row) => [star(league, row), player(row), h("span.below", form(row.form))],
    },
    { title: "Last 5", style: "form less", cell: (row) => form(row.form) },
    number("played", "Played"),
    number("wins", ["W", h("span.broad", "on")]),
    number("draws", ["D", h("span.broad", "rawn")]),
    number("losses", ["L", h("span.broad", "ost")]),
    ...(hasTechnical
      ? [{
        ...number("technical_losses", h("span", { title: "Of those lost, without play" }, "Tech."), "n"),
        cell: (row) => row.technical_losses || "",
      }]
      : []),
    ...tieBreaks.map((one) => ({
      ...number(one, h("abbr", { title: TIE_BREAKS[one][1] }, TIE_BREAKS[one][0]), isNeeded(one) ? "n" : "n less"),
      // A column with blanks does not order players: they were compared within a tie only.
      ...(rows.some((row) => row[one] === null) && { key: null }),
    })),
    number("points", [h("span", "P"), h("span.less", "oin"), "ts"], hasPayoff ? "n less" : "n points"),
    ...(hasPayoff
      ? [{ ...number("payoff", "Payoff", "n points"), cell: (row) => payoffText(row.payoff) }]
      : []),
  ];
}

const player = (row) => [agentLabel(row), " ", isAbsent(row) && h("span.chip", agentState(row))];

// A button for the reader to follow a player. Its sign comes from the style sheet.
function star(league, row) {
  const isOwn = followed(league) === row.id;
  return h("button.star", {
    type: "button",
    "aria-pressed": String(isOwn),
    "aria-label": `Follow ${row.name}`,
    title: isOwn ? "You follow this player" : "Follow this player",
    onclick: () => follow(league, row.id),
  });
}

const MARKS = { 1: ["won", "W"], "+": ["won", "W"], "½": ["drawn", "D"], 0: ["lose", "L"], "-": ["lose", "L"] };

// The last matches of a player, the latest last.
export const form = (marks) => marks && h(
  "span.marks",
  screenReaderText([...marks].map((mark) => MARK_WORDS[mark]).join(", ")),
  [...marks].map((mark) => {
    const [kind, letter] = MARKS[mark];
    return h(`span.${kind}`, { "aria-hidden": "true", title: MARK_WORDS[mark] }, letter);
  }),
);

// Order

const direction = () => (chosen("sort").startsWith("-") ? -1 : 1);
const sortKey = () => chosen("sort").replace("-", "");

function head({ key, title, style }) {
  if (!key) return [title, style];
  const isSorted = sortKey() === key;
  const order = direction() > 0 ? "ascending" : "descending";
  return [
    h("button.sort", { type: "button", "data-key": key, onclick: sortBy }, title),
    style,
    { "aria-sort": isSorted ? order : null },
  ];
}

// The highest numbers come first, then the lowest, then the order of ranks.
function sortBy({ currentTarget: button }) {
  const { key } = button.dataset;
  const [first, second] = key === "name" ? [key, `-${key}`] : [`-${key}`, key];
  choose("sort", key === "rank" || chosen("sort") === second ? "" : chosen("sort") === first ? second : first);
}

function sorted(rows, columns) {
  const key = sortKey();
  if (!columns.some((column) => column.key === key)) return rows;
  const compare = (one, other) =>
    key === "name" ? one.localeCompare(other, "en", { numeric: true }) : (one ?? -1) - (other ?? -1);
  return [...rows].sort((one, other) => direction() * compare(one[key], other[key]) || one.rank - other.rank);
}

// Search

const tools = (wanted) => h(
  "div.tools",
  h("input", {
    id: "find",
    type: "search",
    value: wanted,
    placeholder: "Find a player",
    "aria-label": "Find a player in the table",
    "aria-keyshortcuts": "/",
    title: "The key / leads here",
    maxlength: 50,
    oninput: ({ currentTarget }) => choose("find", currentTarget.value.trim()),
  }),
  h("button", { type: "button", title: "Copy the address of this view", onclick: share }, shareLabel),
);

let shareLabel = "Copy link";
async function share() {
  try {
    await navigator.clipboard.writeText(location.href);
    shareLabel = "Copied";
  } catch {
    // Only pages with a certificate, and those of this machine, may copy.
    shareLabel = "It is in the address bar";
  }
  redraw();
  setTimeout(() => {
    shareLabel = "Copy link";
    redraw();
  }, REFRESH_MS);
}

addEventListener("keydown", (event) => {
  const search = document.getElementById("find");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || search === null) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  search.focus();
});

const found = (rows, wanted) => {
  const lower = wanted.toLowerCase();
  return rows.filter((row) => row.name.toLowerCase().includes(lower) || row.id.toLowerCase() === lower);
};

// The rows that are not in the stream are loaded when they are searched.
let others = [];
let loadedAt = -Infinity;
function allRows({ league }, rows, wanted) {
  if (!wanted || league.players <= rows.length) return rows;
  if (performance.now() - loadedAt > REFRESH_MS) {
    loadedAt = performance.now();
    loadOthers(league.players);
  }
  const first = new Set(rows.map((row) => row.id));
  return [...rows, ...others.filter((row) => !first.has(row.id))];
}

async function loadOthers(players) {
  const pages = [];
  try {
    for (let offset = MAX_ROWS; offset < players; offset += MAX_ROWS) {
      pages.push((await get("api/standings", { offset })).rows);
    }
  } catch {
    // They are asked for again with the next change.
    return;
  }
  others = pages.flat();
  redraw();
}

// What the order means

// How certain the first place is, as the ratings say. They are asked when a round begins, or the first place changes.
let said = null;
let asked = "";
function certainty({ league, standings: all }, rows) {
  const first = rows[0].id;
  const key = `${league.round} ${league.state} ${first}`;
  if (asked !== key) {
    const delay = asked ? Math.random() * SPREAD_MS : 0;
    asked = key;
    setTimeout(ask, delay, key, first);
  }
  // Nobody is the leader where several share the lead.
  const isShared = rows[1]?.shown_rank === rows[0].shown_rank && said?.sentence.includes(first);
  return said?.first === first && !isShared && h(
    "p.certainty",
    withNames(said.sentence, ...Object.values(all)),
    " ",
    h("a", { href: "#/figures" }, "What the table means"),
  );
}

async function ask(key, first) {
  try {
    const { certainty: sentence, players } = await get("api/figures", { limit: 1 });
    // The first place may have changed meanwhile.
    if (key === asked) said = players[0]?.id === first || players.length === 0 ? { first, sentence } : null;
    redraw();
  } catch {
    if (key === asked) asked = "";
  }
}

// Why the first is the first.
export function reason(league, rows) {
  const [first, second] = rows;
  if (league.view === "bracket") return linked(league.end_reason, ...rows);
  const tie = league.ties.find((sentence) => sentence.split(/\b/).includes(first.id));
  if (tie) return [withNames(tie, ...rows), tie.endsWith("decided.") && h("span.soft", meanings(tie))];
  const isByPoints = first.payoff === undefined && second && first.points > second.points;
  return isByPoints && [`${plural(first.points - second.points, "point")} ahead of `, name(second.name), "."];
}

// What the tie-breaks of a sentence mean.
const meanings = (sentence) => Object.values(TIE_BREAKS)
  .filter(([, meaning]) => sentence.toLowerCase().includes(meaning.split(":")[0].toLowerCase()))
  .map(([, meaning]) => ` ${meaning}.`);

// What decided between players with equal points, and what can.
const decisions = (league, rows, shown) => [
  league.ranked_by && h("p.small", league.ranked_by),
  league.ties.filter((sentence) => shown.some(({ id }) => sentence.split(/\b/).includes(id))).map((sentence) =>
    h("p.small", withNames(sentence, ...rows)),
  ),
  h(
    "details.small.soft",
    h("summary", "How the order is decided"),
    league.tie_breaks.length > 0 && h("p", "H2H and SB are shown only where they were needed."),
    league.tie_breaks.filter((one) => one in TIE_BREAKS).map((one) => h("p", `${TIE_BREAKS[one][1]}.`)),
    league.tie_breaks.length > 0 && h("p", "Players who are equal in all of that share a rank, written 1=."),
    h("p", "SHA-256 of the seed, from which draws and lots are made: ", h("code.hash", league.seed_commitment)),
    league.seed_hex && h("p", "The seed: ", h("code.hash", league.seed_hex)),
  ),
];

// The first three of a league that is over.
export const podium = (rows) => h(
  "ol.podium",
  { "aria-label": "The first places" },
  rows.slice(0, 3).map((row) =>
    h(
      "li",
      { "data-key": row.id, class: `place-${row.rank}` },
      h("span.medal", row.shown_rank.replace("=", "")),
      h("p", h("a", { href: `#/agents/${row.id}` }, name(row.name))),
      h(
        "p.soft.small",
        row.payoff === undefined ? plural(row.points, "point") : `a payoff of ${payoffText(row.payoff)}`,
        `: ${row.wins} won, ${row.draws} drawn, ${row.losses} lost`,
      ),
    ),
  ),
);
