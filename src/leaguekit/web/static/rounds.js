// The rounds, and one of them with all its matches.

import { h, matchLink, show, table, withNames, agentLabel } from "./elements.js";
import { moment, plural, score, statusOf } from "./words.js";

const MAX_MATCHES = 200;

export const title = ({ round }) => (round ? `Round ${round.round.round_id}` : "Rounds");

export async function load(what, get) {
  const rounds = await get("api/rounds");
  const current = rounds.rounds.findLast((round) => round.announced_at)?.round_id ?? 1;
  const number = what || (rounds.total ? current : 0);
  return { rounds, round: number ? await get(`api/rounds/${encodeURIComponent(number)}`) : null };
}

export function render(main, { rounds, round }) {
  show(
    main,
    h("h1", { tabindex: "-1" }, round ? `Round ${round.round.round_id} of ${rounds.total}` : "Rounds"),
    round
      ? [choice(rounds, round.round.round_id), matches(round)]
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
          title: `${mark(round)}, ${round.played} of ${round.matches} played`,
          "aria-current": round.round_id === here ? "page" : null,
        },
        round.round_id,
      ),
    ),
  );
}

function matches({ round, rests, matches: list, total }) {
  return [
    h(
      "p.soft",
      `${round.played} of ${plural(round.matches, "match", "matches")} played: `,
      `${round.wins} won, ${round.draws} drawn, ${round.technical_losses} lost technically`,
      round.announced_at && [". Announced at ", moment(round.announced_at)],
    ),
    rests.length > 0 && h(
      "p",
      "No match in this round: ",
      rests.map((agent, place) => [place > 0 && ", ", agentLabel(agent)]),
    ),
    matchTable(`Matches of round ${round.round_id}`, list),
    total > MAX_MATCHES && h("p.soft", `The first ${MAX_MATCHES} of ${total} matches.`),
  ];
}

export function matchTable(caption, list) {
  const side = (match, agent) => h("span", { class: match.winner === agent.id ? "winner" : null }, agentLabel(agent));
  return table(
    caption,
    [["Match", ""], ["Player A", "who"], ["Points", "n score"], ["Player B", "who"], ["How it came", "why"]],
    list.map((match) => ({
      key: match.match_id,
      cells: [
        matchLink(match.match_id),
        side(match, match.a),
        score(match),
        side(match, match.b),
        match.reason ? withNames(match.reason, match.a, match.b) : h("span.soft", statusOf(match)),
      ],
    })),
    { kind: "full pairings", hidden: true },
  );
}
