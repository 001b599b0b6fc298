// The messages of a match as a diagram in time: the referee between its two players, later further down.

import { namesInText, shorten, svg } from "./elements.js";
import { seconds } from "./words.js";

const TOP = 46;
const ROW = 44;
// Waits are drawn longer the longer they were, but not as long as they were.
const STRETCH = 14;
const CHARACTER = 7.2;

export function sequence(match, messages, width, upto) {
  const time = width < 500 ? 50 : 64;
  const lanes = { a: time + 16, referee: time + (width - time) / 2, b: width - 16 };
  const room = Math.floor((lanes.referee - lanes.a - 16) / CHARACTER);
  let y = TOP;
  let before = 0;
  const named = messages.map((message) => ({ ...message, text: namesInText(message.text, match.a, match.b) }));
  const rows = named.map((message, place) => {
    y += ROW + STRETCH * Math.log10(1 + Math.max(0, message.seconds - before) * 100);
    before = message.seconds;
    return svg(
      "g",
      { class: `said ${message.what} ${message.player_id === match.a.id ? "a" : "b"}${place > upto ? " later" : ""}` },
      svg("text.tick", { x: time - 8, y: y + 4, "text-anchor": "end" }, seconds(message.seconds)),
      message.what === "ruled"
        ? ruling(message, lanes, y, width)
        : arrow(message, message.player_id === match.a.id ? lanes.a : lanes.b, lanes.referee, y, room),
    );
  });
  const bottom = y + 24;
  const heads = [
    [lanes.a, match.a.name, "start"],
    [lanes.referee, match.referee_id ?? "referee", "middle"],
    [lanes.b, match.b.name, "end"],
  ].map(([x, text, anchor]) => [
    svg("path.lane", { d: `M${x} ${TOP - 12}V${bottom}` }),
    svg(
      "text.head",
      { x: anchor === "start" ? x - 8 : anchor === "end" ? x + 8 : x, y: TOP - 22, "text-anchor": anchor },
      shorten(text, Math.floor(width / 30)),
    ),
  ]);
  const about = `${messages.length} messages between the referee and its two players; the list below has the same.`;
  return svg(
    "svg.sequence",
    { viewBox: `0 0 ${width} ${bottom + 4}`, width, height: bottom + 4, role: "img", "aria-label": about },
    heads,
    rows,
  );
}

function arrow(message, player, referee, y, room) {
  const [from, to] = message.what === "received" ? [player, referee] : [referee, player];
  const way = Math.sign(to - from);
  const end = to - way * (message.what === "failed" ? 14 : 2);
  const middle = (player + referee) / 2;
  return [
    svg("path.way", { d: `M${from} ${y}H${end}` }),
    message.what === "failed"
      ? svg("path.way.cross", { d: `M${end - 5} ${y - 5}l10 10m0 -10l-10 10` })
      : svg("path.tip", { d: `M${end} ${y}l${-way * 8} -4v8z` }),
    svg(
      "text.type",
      { x: middle, y: y - 6, "text-anchor": "middle" },
      shorten(message.message_type ?? message.what, room),
    ),
    svg("text.text", { x: middle, y: y + 15, "text-anchor": "middle" }, shorten(message.text, room)),
    svg("title", `${message.message_type ?? message.what} ${message.text}`),
  ];
}

const ruling = (message, lanes, y, width) => [
  svg("rect.band", { x: lanes.a, y: y - 14, width: lanes.b - lanes.a, height: 26, rx: 5 }),
  svg(
    "text.text",
    { x: lanes.referee, y: y + 4, "text-anchor": "middle" },
    shorten(message.text, Math.floor((width - 110) / CHARACTER)),
  ),
  svg("title", message.text),
];
