// Charts as SVG, with colours from the style sheet. Each is drawn for its actual width, so that its text is legible.

import { shorten, h, svg } from "./elements.js";
import { answerTimes, seconds } from "./words.js";

// The lines that have a colour: more colours could not be distinguished. The other lines are grey.
const MAX_COLOURED = 6;
const LABEL_HEIGHT = 18;

export const widthOf = (main, most = 1100) => Math.max(300, Math.min(most, main.clientWidth - 40));

const picture = (kind, width, height, about, ...parts) =>
  svg(`svg.${kind}`, { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": about }, ...parts);

// Points over the rounds, with one line for each player. The first players of the table have colours.
export function pointsChart({ players, rounds }, width) {
  const height = Math.round(Math.min(420, 180 + width / 5));
  const isWide = width > 460;
  const [left, right, top, bottom] = [40, isWide ? 128 : 52, 12, 44];
  const most = Math.max(1, ...players.map((player) => player.points.at(-1) ?? 0));
  const step = tickStep(most, 6);
  const highest = Math.ceil(most / step) * step;
  const x = (round) => left + ((width - left - right) * round) / Math.max(rounds, 1);
  const y = (points) => height - bottom - ((height - top - bottom) * points) / highest;
  const grid = [];
  for (let points = 0; points <= highest; points += step) {
    grid.push(svg("path.grid", { d: `M${left} ${y(points)}H${width - right}` }));
    grid.push(svg("text.tick", { x: left - 6, y: y(points) + 4, "text-anchor": "end" }, points));
  }
  for (let round = 0; round <= rounds; round += tickStep(rounds, isWide ? 12 : 6)) {
    grid.push(svg("text.tick", { x: x(round), y: height - bottom + 18, "text-anchor": "middle" }, round));
  }
  grid.push(svg("text.tick", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "round"));
  const first = players.slice(0, MAX_COLOURED);
  const ends = spread(first.map((player) => y(player.points.at(-1) ?? 0)), height - bottom);
  // The first ones are drawn last, above the others.
  const lines = players.map((player, place) => {
    const colour = place < MAX_COLOURED ? `c${place + 1}` : "other";
    const way = [0, ...player.points].map((points, round) => `${x(round).toFixed(1)},${y(points).toFixed(1)}`);
    const total = player.points.at(-1) ?? 0;
    return svg(
      `polyline.line.${colour}`,
      { points: way.join(" ") },
      svg("title", `${player.name} (${player.id}): ${total} points`),
    );
  });
  const labels = first.map((player, place) =>
    svg(
      `text.label.c${place + 1}`,
      { x: width - right + 8, y: ends[place] + 4 },
      isWide ? shorten(player.name, 15) : player.id,
    ),
  );
  return picture(
    "chart",
    width,
    height,
    `Points of ${players.length} players after each of ${rounds} rounds; the table below has the same.`,
    grid,
    lines.reverse(),
    labels,
  );
}

// How many answers took how long.
export function timesChart(times, bounds, width, limit = null) {
  const last = Math.max(...times.counts.map((count, place) => (count ? place : 0)), 3);
  const counts = times.counts.slice(0, last + 1);
  const height = 190;
  const [left, top, bottom] = [8, 24, 40];
  const each = Math.min(110, (width - 2 * left) / counts.length);
  const most = Math.max(1, ...counts);
  const every = each < 46 ? 2 : 1;
  const parts = counts.map((count, place) => {
    const tall = ((height - top - bottom) * count) / most;
    const x = left + place * each;
    const bound = place < bounds.length ? `≤ ${seconds(bounds[place])}` : `> ${seconds(bounds.at(-1))}`;
    return [
      svg(
        "rect.column",
        {
          x: x + 2,
          y: height - bottom - Math.max(tall, count ? 2 : 0),
          width: each - 4,
          height: Math.max(tall, count ? 2 : 0),
        },
        svg("title", `${bound}: ${count}`),
      ),
      count > 0 && svg(
        "text.value",
        { x: x + each / 2, y: height - bottom - tall - 6, "text-anchor": "middle" },
        count.toLocaleString("en"),
      ),
      place % every === 0 && svg(
        "text.tick",
        { x: x + each / 2, y: height - bottom + 18, "text-anchor": "middle" },
        bound,
      ),
      limit !== null && bounds[place] === limit && svg("path.limit", { d: `M${x + each} ${top}V${height - bottom}` }),
    ];
  });
  const about = `How long ${times.answers} answers took: ${answerTimes(times)}`;
  return picture(
    "chart",
    width,
    height,
    about,
    svg("path.grid", { d: `M${left} ${height - bottom}H${left + each * counts.length}` }),
    parts,
  );
}

// The same, as small as a word.
export function timesSparkline(times) {
  const most = Math.max(1, ...times.counts);
  const columns = times.counts.map((count, place) =>
    count > 0 && svg(
      "rect.column",
      { x: place * 7, y: 18 - Math.max(2, (16 * count) / most), width: 6, height: Math.max(2, (16 * count) / most) },
    ),
  );
  return svg("svg.spark", { viewBox: `0 0 ${times.counts.length * 7} 18`, "aria-hidden": "true" }, columns);
}

// One scale for the ratings of all players: a dot each, and how far off it may be.
export function ratingScale(players) {
  const ends = players.flatMap(({ low, high }) => (low === null ? [] : [low, high]));
  const step = tickStep(Math.max(1, ...ends) - Math.min(-1, ...ends), 8);
  const low = Math.floor(Math.min(0, ...ends) / step) * step;
  const high = Math.ceil(Math.max(1, ...ends) / step) * step;
  const x = (value) => ((100 * (value - low)) / (high - low)).toFixed(1);
  const bar = (player) =>
    player.rating !== null &&
    svg(
      "svg.whisker",
      {
        viewBox: "0 0 100 10",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `between ${signed(player.low)} and ${signed(player.high)}`,
      },
      svg("path.zero", { d: `M${x(0)} 0V10` }),
      svg("path.interval", { d: `M${x(player.low)} 5H${x(player.high)}` }),
      svg("path.end", { d: `M${x(player.low)} 2.5V7.5M${x(player.high)} 2.5V7.5` }),
      svg("path.dot", { d: `M${x(player.rating)} 5h0` }),
    );
  return {
    head: h("span.ends", h("span", signed(low)), h("span.less", "95 % interval"), h("span", signed(high))),
    bar,
  };
}

export const signed = (value) => (value > 0 ? `+${value}` : value < 0 ? `−${-value}` : "0");

// The smallest round step for which an axis of this length has about that many ticks at most.
function tickStep(span, most) {
  let step = 1;
  while (span / step > most) step = String(step)[0] === "2" ? (step / 2) * 5 : step * 2;
  return step;
}

// Heights of labels, each as near to the given one as possible without overlapping another.
function spread(heights, lowest) {
  const order = heights.map((_, place) => place).sort((one, other) => heights[one] - heights[other]);
  const placed = [...heights];
  for (let place = 1; place < order.length; place++) {
    placed[order[place]] = Math.max(placed[order[place]], placed[order[place - 1]] + LABEL_HEIGHT);
  }
  let below = lowest;
  for (const place of order.reverse()) {
    placed[place] = Math.min(placed[place], below);
    below = placed[place] - LABEL_HEIGHT;
  }
  return placed;
}
