// Matches on the front page: those in play, those that come next, the latest results, and those of one's own player.

import { get, Refused } from "./data.js";
import { h, name, screenReaderText, withNames } from "./elements.js";
import { followed, lazy, redraw } from "./reader.js";
import { form } from "./standings.js";
import { countdown, isAhead, moment, plural, roughly, score, stageOf, statusOf, timeLeft } from "./words.js";

const pictures = lazy(() => import("./pictures.js"));

const MAX_ITEMS = 8;
const PAUSE_MS = 1500;

const bySchedule = (one, other) => one.match_id.localeCompare(other.match_id, "en", { numeric: true });
const matchPage = (match) => `#/matches/${match.match_id}`;

// The ranks of the players, once there are any.
const ranksOf = ({ league, standings }) =>
  new Map(league.matches_played > 0 ? Object.values(standings).map((row) => [row.id, row.shown_rank]) : []);

const player = (agent, ranks) => [
  ranks.has(agent.id) && [h("span.rank", { title: "Rank" }, `#${ranks.get(agent.id)}`), " "],
  name(agent.name, agent.id),
];

const pair = (match, ranks) =>
  h("a.pair", { href: matchPage(match) }, player(match.a, ranks), h("span.soft", " – "), player(match.b, ranks));

// A sentence with the names of the players in place of the id of each match that is shown here.
export const withMatches = (sentence, { playing, upcoming, results: ended }) =>
  sentence.split(/\b(R\d+M\d+)\b/).map((part, place) => {
    const match = playing[part] ?? upcoming?.[part] ?? ended[part];
    if (match) return pair(match, new Map());
    return place % 2 ? h("a", { href: `#/matches/${part}` }, part) : part;
  });

// Whether the reader's own player is in a match.
function ownIn({ league }) {
  const id = followed(league);
  return ({ a, b }) => a.id === id || b.id === id;
}

// In play

export function inPlay(live) {
  const ranks = ranksOf(live);
  const isOwn = ownIn(live);
  const sum = (match) => [match.a, match.b].reduce((all, { id: one }) => all + (live.standings[one]?.rank ?? 1000), 0);
  // The match of one's own player, then the best players with a board.
  const matches = Object.values(live.playing).sort(
    (one, other) =>
      isOwn(other) - isOwn(one) || !one.picture - !other.picture || sum(one) - sum(other) || bySchedule(one, other),
  );
  const more = matches.length - MAX_ITEMS;
  return h(
    "section.playing",
    { "aria-labelledby": "playing" },
    h("h2", { id: "playing" }, "In play", matches.length > 0 && h("span.count", matches.length)),
    matches.length === 0
      ? h("p.soft", "No match at the moment.")
      : h(
        "ul.cards.strip",
        { tabindex: "0", "aria-labelledby": "playing" },
        matches.slice(0, MAX_ITEMS).map((match) => card(match, ranks)),
      ),
    more > 0 && h(
      "p.soft.small",
      `The ${MAX_ITEMS} with the best players; ${more} more are in `,
      h("a", { href: `#/rounds/${live.league.round}` }, `round ${live.league.round}`),
    ),
  );
}

const card = (match, ranks) => h(
  "li",
  { "data-key": match.match_id },
  h("a.seats", { href: matchPage(match) }, seat(match, match.a, ranks), seat(match, match.b, ranks)),
  h(
    "p.soft.small",
    match.missing.length === 1 ? number(match) : [stageOf(match.stage), timeLeft(match)],
    match.attempt > 1 && ` (attempt ${match.attempt})`,
  ),
  match.picture && pictures()?.boardOf(match.picture, match),
);

// A player of a match in play. If the match waits for this one alone, its clock is beside it.
function seat(match, agent, ranks) {
  const isAsked = match.missing.length === 1 && match.missing[0] === agent.id;
  return h(
    "span",
    { class: isAsked ? "seat asked" : "seat" },
    h("span", player(agent, ranks)),
    isAsked && [screenReaderText(" thinks, "), match.deadline && countdown(match.deadline), screenReaderText(" left")],
  );
}

const number = ({ try_number: tried, max_tries: most }) => tried > 1 && `try ${tried} of ${most}`;

// A match that waits for one player says for whom.
export const stageOrMissing = (match) => {
  const missing = [match.a, match.b].filter((agent) => match.missing.includes(agent.id));
  return missing.length === 1 ? ["waits for ", name(missing[0].name)] : stageOf(match.stage);
};

// What comes next

export function next(live) {
  const { league } = live;
  const isOwn = ownIn(live);
  const matches = Object.values(live.upcoming ?? {}).sort((one, other) => isOwn(other) - isOwn(one));
  const ranks = ranksOf(live);
  const ofRound = matches[0]?.round_id ?? league.round;
  // The pairings of a round that was drawn are shown above.
  const isShown = ofRound === league.round && Object.keys(live.pairings).length > 0;
  return h(
    "section.next",
    { "aria-labelledby": "next" },
    h("h2", { id: "next" }, "What comes next"),
    h("p", whatIsNext(live, matches, ofRound)),
    !isShown && h("ul.pairs", matches.map((match) => h(
      "li",
      { "data-key": match.match_id },
      pair(match, ranks),
      match.status === "held" && h("span.chip", statusOf(match)),
    ))),
    matches.length > 0 && h("p.small", h("a", { href: `#/rounds/${ofRound}` }, `All of round ${ofRound}`)),
  );
}

function whatIsNext(live, matches, ofRound) {
  const { round, paused, starts_at: starts, draws_more: drawsMore } = live.league;
  if (paused) return "The league is paused by its operator.";
  if (starts && isAhead(starts)) return [`Round ${round} begins in `, countdown(starts), "."];
  if (round === 0 && matches.length === 0) return "The first round is being drawn.";
  if (ofRound > round) return round ? [`Round ${ofRound}, as soon as round ${round} is over`, lastRound(live), ":"] : `Round ${ofRound}:`;
  if (matches.length > 0 && matches.every((match) => match.status === "held")) return `The rest of round ${round}:`;
  if (matches.length > 0) return `More of round ${round}, as soon as a referee is free:`;
  return drawsMore ? `Round ${round + 1} is drawn when round ${round} is over.` : "This is the last round.";
}

// When this round ends if it takes as long as the one before, or how long that took. Empty if its announcement is not among
// the latest news.
function lastRound({ news, league: { round } }) {
  const announced = Object.values(news).filter((one) => one.event === "RoundAnnounced");
  const [before, last] = announced.sort((one, other) => one.number - other.number).slice(-2);
  const seconds = last ? (Date.parse(last.at) - Date.parse(before.at)) / 1000 : 0;
  const end = new Date(Date.parse(last?.at) + 1000 * seconds);
  if (seconds >= 1 && isAhead(end)) return [" (at about ", moment(end.toISOString()), `, if it takes as long as round ${round - 1})`];
  return seconds < 1 ? "" : ` (round ${round - 1} took ${roughly(seconds)})`;
}

// Results

export function results(live) {
  const matches = Object.values(live.results).sort(
    (one, other) => other.ended_at.localeCompare(one.ended_at) || bySchedule(other, one),
  );
  return h(
    "section.results",
    { "aria-labelledby": "results" },
    h("h2", { id: "results" }, "Latest results"),
    matches.length === 0
      ? h("p.soft", "None yet.")
      : h("ul.cards", matches.slice(0, MAX_ITEMS).map((match) => result(match))),
  );
}

export function result(match, reason = null) {
  return h(
    "li",
    { "data-key": match.match_id, class: match.result === "TECHNICAL_LOSS" ? "technical" : null },
    reason && h("p.small", withNames(reason, match.a, match.b)),
    h("p", h("a.pair", { href: matchPage(match) }, inWords(match)), " ", h("span.score", pointsOf(match))),
    h(
      "p.soft.small",
      withNames(match.reason, match.a, match.b),
      match.decided_by !== "referee" && ` (decided by the ${match.decided_by})`,
      h("span.id", ` ${match.match_id}`),
    ),
  );
}

// The winner comes first.
const pointsOf = (match) => score(match.winner === match.b.id ? { points: match.points.toReversed() } : match);
function inWords({ a, b, winner, result: kind }) {
  if (winner === null && kind === "TECHNICAL_LOSS") return [name(a.name, a.id), " and ", name(b.name, b.id), " both lost"];
  if (winner === null) return [name(a.name, a.id), " drew with ", name(b.name, b.id)];
  const [first, second] = winner === a.id ? [a, b] : [b, a];
  return [h("span.winner", name(first.name, first.id)), " beat ", name(second.name, second.id)];
}

// At the end

export function highlights(live) {
  const found = Object.values(live.highlights ?? {});
  return found.length > 0 && h(
    "section.highlights",
    { "aria-labelledby": "highlights" },
    h("h2", { id: "highlights" }, "Best matches"),
    h("ul.cards", found.map(({ reason, match }) => result(match, reason))),
  );
}

// The player that the reader follows

let page = null;
let askedFor = "";
let askedAt = -Infinity;

export function own(live) {
  const id = followed(live.league);
  if (!id) return null;
  refresh(live, id);
  if (page?.agent.id !== id || !page.record) return null;
  const { agent, record } = page;
  return h(
    "section.own",
    { "aria-label": "The player that you follow" },
    h(
      "p",
      h("span.rank", `#${record.shown_rank}`),
      " ",
      h("a.large", { href: `#/agents/${id}` }, name(agent.name)),
      h("strong", ` ${plural(record.points, "point")} `),
      form(record.form),
    ),
    soon(page, live),
  );
}

// What a player plays now, what comes next, and how its last match went.
export function soon({ agent, to_come: toCome, played: [last] }, live) {
  const now = toCome.find((match) => match.status === "in_play");
  const later = toCome.find((match) => match.status !== "in_play");
  const against = (match) => ["against ", name(opponent(match, agent.id).name)];
  return [
    now && h("p", h("strong", "Plays now: "), h("a", { href: matchPage(now) }, against(now))),
    live.league.state === "RUNNING_LEAGUE" && h(
      "p",
      h("strong", "Next: "),
      later
        ? [`round ${later.round_id}, `, h("a", { href: matchPage(later) }, against(later)), ownTime(live, later)]
        : agent.out ? "it has left the league" : undrawn(live.league),
      ".",
    ),
    last && h(
      "p",
      h("strong", "Last: "),
      h("a", { href: matchPage(last) }, inWords(last)),
      ": ",
      withNames(last.reason, last.a, last.b),
      ".",
    ),
  ];
}

const undrawn = ({ draws_more: drawsMore, view, round }) =>
  drawsMore && view !== "bracket" ? `round ${round + 1} is drawn when round ${round} is over` : "no further match is set";

const opponent = ({ a, b }, id) => (a.id === id ? b : a);

function ownTime(live, { round_id: number, status }) {
  const { round, starts_at: starts, paused } = live.league;
  if (paused) return "; the league is paused";
  if (status === "held") return "; it waits for the operator";
  if (number > round) return [`; it begins when round ${number - 1} is over`, number === round + 1 && lastRound(live)];
  return starts && isAhead(starts) ? ["; it begins in ", countdown(starts), ", at ", moment(starts)] : "; it begins as soon as a referee is free";
}

// Its page is loaded again when its row or its matches have changed.
async function refresh({ league, standings: rows, agents }, id) {
  const wanted = JSON.stringify([id, rows[id] ?? league.matches_played, agents[id]?.playing, league.round, league.state]);
  const wait = askedAt + PAUSE_MS - performance.now();
  if (wanted === askedFor) return;
  if (wait > 0) {
    setTimeout(redraw, wait);
    return;
  }
  [askedFor, askedAt] = [wanted, performance.now()];
  try {
    page = await get(`api/agents/${encodeURIComponent(id)}`, { limit: 1 });
  } catch (error) {
    // The player of an earlier league is not in this one.
    if (error instanceof Refused && !error.isBusy) page = null;
    else askedFor = "";
  }
  redraw();
}
