// A position of a match as a PNG file, with the names of the players and the result.

import { h, shorten, svg } from "./elements.js";

const WIDTH = 480;
const MARGIN = 24;
const BOARD_HEIGHT = 320;
const MAX_CHARACTERS = 52;
// Twice as many pixels, for fine screens.
const SCALE = 2;
const COPIED = ["fill", "stroke", "stroke-width", "paint-order", "text-anchor", "font-size", "font-family"];

export async function save(figure, { heading, players, score, reason, file }) {
  const parts = [];
  let y = MARGIN;
  const line = (text, size, kind = "--ink", weight = 400) => {
    y += size * 1.3;
    const place = { x: WIDTH / 2, y, "font-size": size, "font-weight": weight, "text-anchor": "middle" };
    parts.push(svg("text", { ...place, fill: colour(kind) }, text));
  };
  line(shorten(heading, MAX_CHARACTERS), 15, "--soft");
  for (const text of wrapped(players, 34)) line(text, 22, "--ink", 700);
  line(score, 22);
  y += 12;
  const board = figure?.querySelector("svg");
  if (board) {
    const copy = styledCopy(board);
    for (const [key, value] of Object.entries({ x: MARGIN, y, width: WIDTH - 2 * MARGIN, height: BOARD_HEIGHT })) {
      copy.setAttribute(key, value);
    }
    parts.push(copy);
    y += BOARD_HEIGHT;
  } else for (const text of (figure?.innerText ?? "").split("\n")) line(shorten(text, MAX_CHARACTERS), 14);
  for (const text of wrapped(reason, MAX_CHARACTERS)) line(text, 15);
  await download(parts, y + MARGIN, file);
}

const colour = (name) => {
  const probe = h("span", { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

// A drawing with the colours that the style sheet gives it here.
function styledCopy(drawn) {
  const copy = drawn.cloneNode(true);
  const originals = drawn.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, place) => {
    const style = getComputedStyle(originals[place]);
    for (const property of COPIED) element.style.setProperty(property, style.getPropertyValue(property));
  });
  return copy;
}

function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= most) lines[lines.length - 1] = longer;
    else lines.push(shorten(word, most));
  }
  return lines.filter(Boolean);
}

async function download(parts, height, file) {
  const size = { width: WIDTH, height };
  const background = svg("rect", { ...size, fill: colour("--paper") });
  const drawn = svg("svg", { ...size, "font-family": getComputedStyle(document.body).fontFamily }, background, parts);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(drawn))}`;
  await image.decode();
  const canvas = h("canvas", { width: WIDTH * SCALE, height: height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  h("a", { href: canvas.toDataURL("image/png"), download: file }).click();
}
