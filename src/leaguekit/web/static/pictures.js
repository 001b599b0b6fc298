// Pictures of games, from plain data: a grid, cards or text (leaguekit/games/pictures.py). Dashboard and seats draw them
// here; reports draw the same elements in Python (leaguekit/web/report/drawings.py).

import { h, svg, withNames } from "./elements.js";

const CELL = 30;
// From the point of a ring at the left: the outer circle, and the inner one.
const CIRCLES = "a11.5 11.5 0 1 1 23 0a11.5 11.5 0 1 1-23 0zm6 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0z";
// A cell shows at most this number of characters.
const MAX_CHARACTERS = 6;

// `named` shows a caption or a label, which may have ids of players. `choose` gives a function for a move. Then the cells
// of the move are a button.
export function drawing(picture, { named = (text) => text, choose = () => null } = {}) {
  return h(
    `figure.picture.of-${picture.kind}`,
    KINDS[picture.kind](picture, named, choose),
    picture.caption && h("figcaption", named(picture.caption)),
  );
}

// The picture of a match, with the names of its players.
export const boardOf = (picture, { a, b }) => drawing(picture, { named: (text) => withNames(text, a, b) });

const KINDS = {
  grid: grid,
  cards: ({ hands }, named) =>
    h(
      "dl",
      hands.map(({ label, cards }) => h("div", h("dt", named(label)), h("dd", cards.map(card)))),
    ),
  text: ({ text }) => h("pre", { tabindex: "0", role: "region", "aria-label": "Position", dir: "ltr" }, text),
};

const card = (face) =>
  face === null
    ? h("span.back", { role: "img", "aria-label": "a card that lies face down" })
    : h(/[♥♦]/.test(face) ? "span.face.red" : "span.face", h("bdi", face));

function grid({ rows, row_labels: rowLabels = [], column_labels: columnLabels = [], moves = [], chequered }, named, choose) {
  const left = 1 + Math.max(0, ...rowLabels.map((label) => 8 * Math.min(label.length, MAX_CHARACTERS) + 6));
  const bottom = 1 + (columnLabels.length > 0 ? 18 : 0);
  const [width, height] = [rows[0].length * CELL, rows.length * CELL];
  // The cells of each move, by the move as JSON.
  const choices = new Map();
  const cells = rows.flatMap((row, y) =>
    row.map((found, x) => {
      const { text, colour = "", marked = false } = typeof found === "string" ? { text: found } : found;
      const move = moves[y]?.[x] ?? null;
      const by = choose(move);
      const [at, top] = [left + x * CELL, 1 + y * CELL];
      const kind = [marked && "marked", text === "" && colour].filter(Boolean).join(".");
      const box = { x: at, y: top, width: CELL, height: CELL };
      const shown = text && (PIECES.get(text) ?? letters)(text, at, top, colour);
      if (!by) return [kind && svg(`rect.${kind}`, box), shown];
      const place = `row ${rowLabels[y] ?? y + 1}, column ${columnLabels[x] ?? x + 1}: ${cellText(found).replace("–", "free")}`;
      const choice = { move, by, at, top, place, shown, rect: svg(kind ? `rect.${kind}` : "rect", box) };
      const key = JSON.stringify(move);
      choices.set(key, [...(choices.get(key) ?? []), choice]);
      return null;
    }),
  );
  const label = (text, x, y) => svg("text.label", { x, y, "font-size": 11 }, shortened(text));
  const scale = rows[0].length > 10 ? 1 : rows[0].length > 4 ? 1.5 : 2.1;
  return svg(
    rows[0].length > 4 ? "svg" : "svg.small",
    {
      viewBox: `0 0 ${left + width + 1} ${height + bottom + 1}`,
      width: Math.round((left + width + 1) * scale),
      role: choices.size > 0 ? "group" : "img",
      "aria-label": `Board, row by row: ${inWords(rows, rowLabels)}`,
    },
    svg("rect.board", { x: left, y: 1, width, height }),
    chequered && svg("path.dark", { d: darkCells(left, rows) }),
    cells,
    [...choices.values()].map((chosen) => button(chosen, columnLabels.length > 0)),
    svg("path.lines", { d: lines(left, width, height) }),
    rowLabels.map((text, y) => label(text, left / 2, y * CELL + 20)),
    columnLabels.map((text, x) => label(text, left + x * CELL + CELL / 2, height + 15)),
  );
}

// The button of a move, which may have several cells. If there are labels at the edge, the cell has no text of its own.
function button(cells, isLabelled) {
  const [{ move, by, at, top, place, shown }] = cells;
  const isOne = cells.length === 1;
  const label = moveText(move);
  return svg(
    "g.choice",
    {
      role: "button",
      tabindex: "0",
      "aria-label": isOne ? place : `move ${label}`,
      onclick: by,
      onkeydown: (pressed) => press(pressed, by),
    },
    cells.map((cell) => [cell.rect, cell.shown]),
    isOne && !isLabelled && !shown && label.length <= 2 && letters(label, at, top, "move"),
  );
}

const shortened = (text) => ([...text].length > MAX_CHARACTERS ? `${[...text].slice(0, MAX_CHARACTERS - 1).join("")}…` : text);

const disc = (_, x, y, colour) =>
  svg(colour ? `circle.${colour}` : "circle", { cx: x + CELL / 2, cy: y + CELL / 2, r: 11.5 });
const ring = (_, x, y, colour) =>
  svg(colour ? `path.ring.${colour}` : "path.ring", { d: `M${x + 3.5} ${y + CELL / 2}${CIRCLES}` });
// The texts whose piece fills a cell. Letters are of different sizes on different machines.
const PIECES = new Map([["●", disc], ["○", ring]]);
// Chess men are filled, because an outline on a dark page looks like the other side's.
[..."♚♛♜♝♞♟"].forEach((man, number) => {
  PIECES.set(man, (_, x, y, colour) => letters(man, x, y, colour || "black"));
  PIECES.set("♔♕♖♗♘♙"[number], (_, x, y, colour) => letters(man, x, y, colour || "white"));
});

function letters(text, x, y, kind) {
  const short = shortened(text);
  const size = [24, 18, 14, 11, 9, 8][[...short].length - 1];
  const place = { x: x + CELL / 2, y: Math.round(y + CELL / 2 + size * 0.36), "font-size": size };
  return svg(kind ? `text.${kind}` : "text", place, short);
}

function darkCells(left, rows) {
  const dark = rows.flatMap((row, y) => row.map((_, x) => (x + y) % 2 && `M${left + x * CELL} ${1 + y * CELL}h30v30h-30z`));
  return dark.filter(Boolean).join("");
}

function lines(left, width, height) {
  const across = Array.from({ length: height / CELL + 1 }, (_, row) => `M${left} ${1 + row * CELL}h${width}`);
  const down = Array.from({ length: width / CELL + 1 }, (_, column) => `M${left + column * CELL} 1v${height}`);
  return [...across, ...down].join("");
}

const cellText = (found) => {
  const { text, colour = "" } = typeof found === "string" ? { text: found } : found;
  return [colour, PIECES.has(text) && colour ? "" : text].filter(Boolean).join(" ") || "–";
};
const inWords = (rows, labels) =>
  rows.map((row, y) => `${labels[y] ? `${labels[y]}: ` : ""}${row.map(cellText).join(" ")}`).join("; ");

function press(pressed, by) {
  if (pressed.key !== "Enter" && pressed.key !== " ") return;
  pressed.preventDefault();
  by();
}

export const moveText = (move) => (typeof move === "string" ? move : JSON.stringify(move));
