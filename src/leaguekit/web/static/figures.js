// What the table means: ratings and chance, points over the rounds, and answer times.

import { pointsChart, ratingScale, signed, timesChart, timesSparkline, widthOf } from "./charts.js";
import { h, show, table, withNames, agentLabel } from "./elements.js";
import { answerTimes, plural, seconds } from "./words.js";

export const title = () => "Figures";

export async function load(_what, get) {
  const paths = ["api/figures", "api/points", "api/times"];
  const [figures, points, times] = await Promise.all(paths.map((path) => get(path)));
  return { figures, points, times };
}

export function render(main, { figures, points, times }) {
  const width = widthOf(main);
  show(
    main,
    h("h1", { tabindex: "-1" }, "Figures"),
    h(
      "section.meaning",
      { "aria-label": "What the figures mean" },
      figures.sentences.map((sentence) => h("p", withNames(sentence, ...figures.players))),
    ),
    h(
      "div.halves",
      ratings(figures),
      h("div", pointsOver(points, main.clientWidth > 1000 ? (main.clientWidth - 130) / 2 : width)),
    ),
    timesOfAnswers(times, width),
  );
}

function ratings({ players, total }) {
  const scale = ratingScale(players);
  // Where all moves are the players' own, the rates say nothing.
  const showsRates = players.some((player) => (player.own_rate ?? 1) < 1 || player.illegal_rate > 0);
  const rates = showsRates ? [["Own moves", "n"], ["Illegal at first", "n"]] : [];
  const percent = (rate) => (rate === null ? "–" : `${Math.round(100 * rate)}\u00a0%`);
  return h(
    "section",
    { "aria-labelledby": "ratings" },
    h("h2", { id: "ratings" }, "Ratings"),
    h(
      "p.soft.small",
      "From all matches that were played out: 0 is the average of this league, and a player rated 400 above another wins ",
      "ten times for each loss. The line shows how far off a rating may be by chance alone.",
    ),
    players.length === 0
      ? h("p.soft", "Nobody is in the table yet.")
      : table(
          "Ratings with their 95 % intervals",
          [["Player", "who"], ["Points", "n less"], ["Rating", "n"], ...rates, [scale.head, "scale"]],
          players.map((player) => ({
            key: player.id,
            cells: [
              agentLabel(player),
              player.points,
              player.rating === null ? "–" : signed(player.rating),
              ...(showsRates ? [percent(player.own_rate), percent(player.illegal_rate)] : []),
              scale.bar(player),
            ],
          })),
          { kind: "full", hidden: true },
        ),
    total > players.length && h("p.soft", `The first ${players.length} of ${plural(total, "player")}.`),
  );
}

function pointsOver(points, width) {
  const { players, rounds } = points;
  const columns = Array.from({ length: rounds }, (_, place) => [place + 1, "n"]);
  return h(
    "section",
    { "aria-labelledby": "points" },
    h("h2", { id: "points" }, "Points over the rounds"),
    rounds === 0
      ? h("p.soft", "No round has begun yet.")
      : [
          pointsChart(points, width),
          h(
            "details",
            h("summary", "As a table"),
            table(
              "Points after each round",
              [["Player", "who"], ...columns],
              players.map((player) => ({ key: player.id, cells: [agentLabel(player), ...player.points] })),
            ),
          ),
        ],
  );
}

function timesOfAnswers(times, width) {
  return h(
    "section",
    { "aria-labelledby": "times" },
    h("h2", { id: "times" }, "Answer times"),
    times.all.answers === 0
      ? h("p.soft", "No answers have been reported yet.")
      : [
          h(
            "p",
            `${plural(times.all.answers, "answer")} to invitations and calls: ${answerTimes(times.all)}. `,
            `The limit for a choice is ${seconds(times.limit)}.`,
          ),
          timesChart(times.all, times.bounds, width, times.limit),
          h("details", h("summary", "By player"), table(
            "Answer times by player",
            [
              ["Player", "who"],
              ["Answers", "n"],
              ["Half within", "n"],
              ["95 % within", "n"],
              ["Longest", "n"],
              ["Distribution", ""],
            ],
            times.players.map(({ id, name, times: own }) => ({
              key: id,
              cells: [
                agentLabel({ id, name }),
                own.answers,
                seconds(own.median),
                seconds(own.p95),
                seconds(own.longest),
                timesSparkline(own),
              ],
            })),
          )),
        ],
  );
}
