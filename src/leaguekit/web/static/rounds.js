// The rounds, and one of them with all its matches.

import { h, matchLink, show, table, withNames, agentLabel } from "./elements.js";
import { form } from "./standings.js";
import { moment, plural, score, statusOf } from "./words.js";

const MAX_MATCHES = 200;

export const title = ({ round }) => (round ? `Round ${round.round.round_id}` : "Rounds");

export async function load(what, get) {
  const rounds = await get("api/rounds");
  const current = rounds.rounds.findLast((round) => round.announced_at)?.round_id ?? 1;
  const number = what || (rounds.total ? current : 0);
  return { rounds, round: number ? await get(`api/rounds/${encodeURIComponent(number)}`) : null };
}

// The number of games in a bracket is not known before its end.
function heading({ total }, { round_id: number, label }, league) {
  const of = league?.view === "bracket" ? "" : ` of ${league?.total_rounds || total}`;
  return `Round ${number}${of}${label && label !== `Round ${number}` ? `: ${label}` : ""}`;
}

export function render(main, { rounds, round }, live) {
  show(
    main,
    h("h1", { tabindex: "-1" }, round ? heading(rounds, round.round, live?.league) : "Rounds"),
    live?.league.advancement && h("p.soft", withNames(live.league.advancement, ...Object.values(live.standings))),
    round
      ? [choice(rounds, round.round.round_id), matches(round, live?.league.view)]
      : h("p.soft", "There is no schedule yet: the league has not begun."),
  );
}

function choice(rounds, here) {
  const mark = (round) => (round.completed ? "over" : round.announced_at ? "in play" : "to come");
  return h(
    "nav.rounds",
    { "aria-label": "Rounds" },
    rounds.rounds.map((round) =>
      h(
        "a",
        {
          href: `#/rounds/${round.round_id}`,
          class: mark(round).replace(" ", "-"),
          title: `${round.label ? `${round.label}: ` : ""}${mark(round)}, ${round.played} of ${round.matches} played`,
          "aria-current": round.round_id === here ? "page" : null,
        },
        round.round_id,
      ),
    ),
  );
}

function matches({ round, rests, byes, points, matches: list, total }, view) {
  const names = (agents) => agents.map((agent, place) => [place > 0 && ", ", agentLabel(agent)]);
  const others = rests.filter((agent) => !byes.some((one) => one.id === agent.id));
  return [
    h(
      "p.soft",
      `${round.played} of ${plural(round.matches, "match", "matches")} played: `,
      `${round.wins} won, ${round.draws} drawn, ${round.technical_losses} lost technically`,
      round.announced_at && [". Announced at ", moment(round.announced_at)],
    ),
    byes.length > 0 && h("p", "A bye, which counts as a win: ", names(byes)),
    // In a bracket, most of these players are out.
    others.length > 0 && view !== "bracket" && h("p", "No match in this round: ", names(others)),
    Object.keys(points).length > 0 && view !== "bracket" &&
      h("p.soft.small", "In parentheses: the points before this round."),
    matchTable(`Matches of round ${round.round_id}`, list, view === "bracket" ? {} : points),
    total > MAX_MATCHES && h("p.soft", `The first ${MAX_MATCHES} of ${total} matches.`),
  ];
}

// The mark of a match that has ended for one of its players; empty for its referee.
function markFor({ a, b, winner, result }, id) {
  if (!result || (id !== a.id && id !== b.id)) return "";
  const isTechnical = result === "TECHNICAL_LOSS";
  if (winner === id) return isTechnical ? "+" : "1";
  return isTechnical ? "-" : winner === null ? "½" : "0";
}

// With the points of the players, if they are known, and how the matches ended for one of them.
export function matchTable(caption, list, points = {}, of = null) {
  const side = (match, agent) => h(
    "span",
    { class: match.winner === agent.id ? "winner" : null },
    agentLabel(agent),
    agent.id in points && h("span.soft.small", ` (${points[agent.id]})`),
  );
  return table(
    caption,
    [["Match", ""], ["Player A", "who"], ["Points", "n score"], ["Player B", "who"], ["How it went", "why"]],
    list.map((match) => ({
      key: match.match_id,
      cells: [
        matchLink(match.match_id),
        side(match, match.a),
        [form(markFor(match, of)), " ", score(match)],
        side(match, match.b),
        match.reason ? withNames(match.reason, match.a, match.b) : h("span.soft", statusOf(match)),
      ],
    })),
    { kind: "full pairings", hidden: true },
  );
}
