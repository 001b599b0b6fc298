// Everybody against everybody.

import { agentLabel, h, name, screenReaderText, show } from "./elements.js";
import { MARK_WORDS } from "./words.js";

const MAX_ROWS = 100;
// Above more columns, names would be too small a help for the room that they take: there are ids.
const MAX_NAMED = 40;
const MARK_CLASSES = { 1: "won", "+": "won", "½": "drawn", 0: "lose", "-": "lose" };

export const title = () => "Cross-table";

// Beyond a hundred players in windows: #/cross/100/0 has the second hundred of rows and the first of columns.
export function load(what, get) {
  const [rows, columns] = what.split("/").map((part) => Number.parseInt(part, 10) || 0);
  return get("api/crosstable", { offset: rows, columns_offset: columns ?? 0 });
}

export function render(main, found) {
  show(
    main,
    h("h1", { tabindex: "-1" }, "Everybody against everybody"),
    h(
      "p.soft",
      "How the match ended for the player of the row: 1 won, ½ drawn, 0 lost, + won and − lost without play. ",
      "Each is a link to its match.",
    ),
    found.total > MAX_ROWS && windows(found),
    found.rows.length === 0 ? h("p.soft", "Nobody is in the table yet.") : crossTable(found),
  );
}

function crossTable({ rows, columns, cells }) {
  const isNamed = columns.length <= MAX_NAMED;
  return h(
    "div.wide",
    { tabindex: "0", role: "region", "aria-label": "Cross-table" },
    h(
      "table.cross",
      h("caption.unseen", "Everybody against everybody, in the order of ranks"),
      h(
        "thead",
        h(
          "tr",
          h("th", { scope: "col" }, screenReaderText("Player")),
          columns.map(
            (agent) => h(
              `th${isNamed ? ".named" : ""}`,
              { scope: "col", title: agent.name },
              h("a", { href: `#/agents/${agent.id}` }, isNamed ? name(agent.name, agent.id) : agent.id),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        rows.map((row, place) => {
          const met = new Map();
          for (const [column, ...meeting] of cells[place]) met.set(column, [...(met.get(column) ?? []), meeting]);
          return h(
            "tr",
            { "data-key": row.id },
            h("th", { scope: "row" }, h("span.id.rank", row.shown_rank), " ", agentLabel(row)),
            columns.map((agent, column) => cell(agent, met.get(column) ?? [], agent.id === row.id)),
          );
        }),
      ),
    ),
  );
}

function cell(opponent, meetings, isSelf) {
  if (isSelf) return h("td.self");
  const kinds = new Set(meetings.map(([, mark]) => MARK_CLASSES[mark] ?? "open"));
  const [kind] = kinds.size === 1 ? kinds : ["drawn"];
  return h(
    "td",
    { class: meetings.length ? kind : null },
    meetings.map(([match, mark]) =>
      mark === null
        ? h("a.open", { href: `#/matches/${match}`, title: match, "aria-label": `${match}, not played yet` }, "·")
        : h(
          "a",
          { href: `#/matches/${match}`, title: match, "aria-label": `${MARK_WORDS[mark]} ${match}` },
          mark === "-" ? "−" : mark,
        ),
    ),
  );
}

function windows({ total, offset, columns_offset: columns }) {
  const starts = Array.from({ length: Math.ceil(total / MAX_ROWS) }, (_, place) => place * MAX_ROWS);
  const choice = (label, here, to) =>
    h(
      "p",
      `${label}: `,
      starts.map((start) => [
        h(
          "a",
          { href: to(start), "aria-current": start === here ? "page" : null },
          `${start + 1}–${Math.min(total, start + MAX_ROWS)}`,
        ),
        " ",
      ]),
    );
  return [
    choice("Rows", offset, (start) => `#/cross/${start}/${columns}`),
    choice("Columns", columns, (start) => `#/cross/${offset}/${start}`),
  ];
}
