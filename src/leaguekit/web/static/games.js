// Games drawn from their plain views. A game without a drawing here still shows its moves.

import { h, svg } from "./elements.js";

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];
const MARKS = {
  X: (x, y) => svg("path.X", { d: `M${x + 8} ${y + 8}l14 14m0 -14l-14 14` }),
  O: (x, y) => svg("circle.O", { cx: x + 15, cy: y + 15, r: 8 }),
};

// A position as everybody may see it; null if there is no drawing of it.
export const drawing = (game, view) => DRAWINGS[game]?.(view) ?? null;

function ticTacToe({ board, moves }) {
  if (typeof board !== "string" || board.length !== 9 || !Array.isArray(moves)) return null;
  const won = LINES.find(([a, b, c]) => board[a] !== "." && board[a] === board[b] && board[a] === board[c]) ?? [];
  const corner = (cell) => [(cell % 3) * 30, Math.floor(cell / 3) * 30];
  const cells = [...board].map((mark, cell) => {
    const [x, y] = corner(cell);
    const number = moves.indexOf(cell) + 1;
    const kind = won.includes(cell) ? "rect.won" : number > 0 && number === moves.length ? "rect.latest" : null;
    return [
      kind && svg(kind, { x: x + 1, y: y + 1, width: 28, height: 28, rx: 3 }),
      MARKS[mark]?.(x, y),
      number > 0 && svg("text", { x: x + 26, y: y + 27 }, number),
    ];
  });
  const rows = [0, 3, 6].map(
    (start) => [...board.slice(start, start + 3)].map((mark) => (mark === "." ? "free" : mark)).join(" "),
  );
  return svg(
    "svg.board",
    { viewBox: "0 0 90 90", role: "img", "aria-label": `Board, row by row: ${rows.join("; ")}` },
    cells,
    svg("path.grid", { d: "M30 3V87M60 3V87M3 30H87M3 60H87" }),
  );
}

function evenOdd({ number, parity }) {
  const isDrawn = Number.isInteger(number);
  return svg(
    `svg.number.${isDrawn ? parity : "hidden"}`,
    {
      viewBox: "0 0 40 40",
      role: "img",
      "aria-label": isDrawn ? `The number ${number}, ${parity}` : "The number is not drawn yet",
    },
    svg("rect", { x: 2, y: 2, width: 36, height: 36, rx: 8 }),
    svg("text", { x: 20, y: 27 }, isDrawn ? number : "?"),
  );
}

// Drawn, for many machines have no signs for all of them.
const HANDS = {
  rock: () => svg("path", { d: "M8 27L6 18L13 9L24 8L33 15L34 26L26 33L14 33Z" }),
  paper: () => svg("path", { d: "M9 5H25L31 11V35H9ZM25 5V11H31" }),
  scissors: () => [
    svg("path", { d: "M12 4L25 27M28 4L15 27" }),
    svg("circle", { cx: 12, cy: 31, r: 5 }),
    svg("circle", { cx: 28, cy: 31, r: 5 }),
  ],
};

function hands({ choices }) {
  if (!choices || typeof choices !== "object") return null;
  return h("p.hands", ["A", "B"].map((side) => hand(side, choices[side])));
}

function hand(side, thrown) {
  const isKnown = Object.hasOwn(HANDS, thrown);
  const about = { viewBox: "0 0 40 40", role: "img", "aria-label": isKnown ? thrown : "not thrown yet" };
  return svg(`svg.hand.${side}`, about, isKnown ? HANDS[thrown]() : svg("text", { x: 20, y: 27 }, "?"));
}

const DRAWINGS = { tic_tac_toe: ticTacToe, even_odd: evenOdd, rock_paper_scissors: hands };
