// Who meets whom on the front page: a bracket, the challengers of a gauntlet, or the round that was drawn last.

import { h, linked, name, screenReaderText } from "./elements.js";
import { MARK_WORDS, plural } from "./words.js";

// A stage with more places is a list, and the bracket begins with the next one.
const MAX_IN_BRACKET = 8;
// The manager sends at most this number of pairings of a round.
const MAX_MET = 64;
// The first pairings of a round are always shown, the others on demand.
const MAX_AT_ONCE = 8;
// The same of the opponents of a challenger.
const MAX_OPPONENTS = 24;

export function pairings(live) {
  const stages = new Map();
  for (const [key, pairing] of Object.entries(live.pairings ?? {})) {
    stages.set(pairing.stage, [...(stages.get(pairing.stage) ?? []), { ...pairing, key }]);
  }
  const found = [...stages.keys()].sort((one, other) => one - other).map((number) =>
    stages.get(number).sort((one, other) => one.key.localeCompare(other.key, "en", { numeric: true })),
  );
  if (found.length === 0) return null;
  if (live.league.view === "bracket") return bracket(live, found);
  return live.league.view === "challengers" ? gauntlet(live, found) : round(live, found[0]);
}

function bracket(live, stages) {
  const isLate = (stage) => stage.filter((pairing) => !pairing.title).length <= MAX_IN_BRACKET;
  const [early, late] = [stages.filter((stage) => !isLate(stage)), stages.filter(isLate)];
  return h(
    "section.bracket",
    { "aria-labelledby": "bracket" },
    h("h2", { id: "bracket" }, "Bracket"),
    advancement(live),
    early.map((stage) => list(stage, stage === early.find((one) => !isOver(one)))),
    h(
      "div.wide",
      { tabindex: "0", role: "region", "aria-label": "Stages" },
      h(
        "div.stages",
        late.map((stage) =>
          h(
            "section",
            { "data-key": stage[0].stage },
            h("h3", stage[0].label),
            h("ol", { class: stage.some((pairing) => pairing.title) ? "with-third" : null }, stage.map(place)),
          ),
        ),
      ),
    ),
  );
}

const advancement = ({ league, standings }) =>
  league.advancement && h("p.soft", linked(league.advancement, ...Object.values(standings)));

const isOver = (stage) => stage.every((one) => one.winner);

// A stage of many pairings, folded unless it is being played.
function list(stage, isCurrent) {
  const [met, alone] = [stage.filter((one) => !one.alone), stage.filter((one) => one.alone)];
  const decided = met.filter((one) => one.winner).length;
  const [frame, head] = isCurrent ? ["section", "h3"] : ["details", "summary"];
  return h(
    `${frame}.stage`,
    h(head, `${stage[0].label}: ${decided} of ${plural(met.length, "pairing")} decided`),
    resting(alone),
    h("ol.places", met.map(place)),
  );
}

function round(live, pairs) {
  const [met, alone] = [pairs.filter((one) => !one.alone), pairs.filter((one) => one.alone)];
  const [first, others] = [met.slice(0, MAX_AT_ONCE), met.slice(MAX_AT_ONCE)];
  const isWhole = met.length < MAX_MET;
  const played = (some) => some.filter(({ games }) => games.every((game) => game.marks)).length;
  return h(
    "section.round",
    { "aria-labelledby": "round" },
    h("h2", { id: "round" }, pairs[0].label),
    advancement(live),
    h(
      "p.soft.small",
      isWhole
        ? `${played(met)} of ${plural(met.length, "match", "matches")} played. `
        : [`${played(met)} of the first ${met.length} matches played. `, h("a", { href: "#/rounds" }, "All matches"), ". "],
      "In parentheses: the points before this round.",
    ),
    resting(alone),
    h("ol.places", first.map(place)),
    others.length > 0 && h(
      "details",
      h("summary", `${plural(others.length, "more pairing")}, ${played(others)} played`),
      h("ol.places", others.map(place)),
    ),
  );
}

// Each challenger of a gauntlet: what it made of the match against each of the others.
function gauntlet(live, stages) {
  return h(
    "section.gauntlet",
    { "aria-labelledby": "gauntlet" },
    h("h2", { id: "gauntlet" }, "Gauntlet"),
    advancement(live),
    stages.map((stage) => challenger(stage, live.league.players - 1)),
    h("p.soft.small", "1 won, ½ drew, 0 lost, + won and − lost without play. Each is a link to its match."),
  );
}

function challenger(pairs, opponents) {
  const isWhole = pairs.length >= opponents;
  const results = pairs.flatMap(({ games }) => games.map((game) => game.marks?.[0]));
  const count = (...some) => results.filter((one) => some.includes(one)).length;
  const [first, others] = [pairs.slice(0, MAX_OPPONENTS), pairs.slice(MAX_OPPONENTS)];
  return h(
    "section.challenger",
    { "data-key": pairs[0].stage },
    h("h3", linked(pairs[0].label, pairs[0].a)),
    isWhole && h(
      "p.small",
      `${count("1", "+")} won, ${count("½")} drawn, ${count("0", "-")} lost; ${count(undefined)} to play`,
    ),
    h("ol.places", first.map(opponent)),
    others.length > 0 && h(
      "details",
      h("summary", plural(others.length, "more opponent")),
      h("ol.places", others.map(opponent)),
    ),
    !isWhole && h(
      "p.small",
      `These are ${pairs.length} of ${plural(opponents, "opponent")}. `,
      h("a", { href: "#/cross" }, "All results"),
    ),
  );
}

const opponent = (pairing) => h("li", { "data-key": pairing.key }, h(
  "div.tie",
  h("p.rival", h("span.name", player(pairing.b)), marks(pairing, 0)),
));

function resting(alone) {
  const [byes, rests] = [alone.filter((one) => one.alone === "bye"), alone.filter((one) => one.alone === "rests")];
  const names = (pairs) => pairs.map(({ a }, index) => [index > 0 && ", ", player(a)]);
  return [
    byes.length > 0 && h("p.resting", "A bye, which counts as a win: ", names(byes)),
    rests.length > 0 && h("p.resting", rests[0].points ? "No match in this round: " : "Advance without a match: ", names(rests)),
  ];
}

const player = (agent) => h("a", { href: `#/agents/${agent.id}` }, name(agent.name, agent.id));

function place(pairing) {
  const { key, title, alone, by_lot: byLot, winner } = pairing;
  return h(
    "li",
    {
      "data-key": key,
      class: [alone && "alone", title && "third", !pairing.a && !pairing.b && "unknown"].filter(Boolean).join(" ") || null,
    },
    h(
      "div.tie",
      title && h("p.small.soft", title),
      side(pairing, 0),
      alone ? h("p.small.soft", "advances without a match") : side(pairing, 1),
      byLot && h("p.small.soft", "decided by the league's lot"),
      !winner && !alone && pairing.games.length > 0 && !pairing.points && h("p.small.soft", "not decided yet"),
    ),
  );
}

// A player of a pairing, and what it made of each game.
function side(pairing, which) {
  const agent = [pairing.a, pairing.b][which];
  if (!agent) return h("p.rival.soft", h("span.name", "not known yet"));
  const isWinner = pairing.winner === agent.id;
  return h(
    "p",
    { class: `rival ${isWinner ? "winner" : pairing.winner ? "beaten" : ""}` },
    h("span.name", player(agent), pairing.points && h("span.soft.small", ` (${pairing.points[which]})`)),
    isWinner && !pairing.points && screenReaderText(pairing.title ? "wins" : "advances"),
    marks(pairing, which),
  );
}

// What a player of a pairing made of each game, as links.
function marks(pairing, which) {
  return pairing.games.map(({ match_id: id, marks: found }) =>
    h(
      "a.mark",
      { href: `#/matches/${id}`, title: id, "aria-label": found ? `${MARK_WORDS[found[which]]} ${id}` : `${id}, not over` },
      found ? found[which].replace("-", "−") : "·",
    ),
  );
}
