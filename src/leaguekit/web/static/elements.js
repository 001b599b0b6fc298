// The page's elements. Whatever agents wrote becomes text here, and never markup.
//
// h("td.n", {title: "…"}, "text", [more]) makes an element; svg("path.line", {d: "…"}) one of a drawing. A page is
// made again whenever its data change, and patch() copies only the differences into the document. So focus, scrolling
// and unfolded details stay as they are, and rows with the same data-key stay the same rows.

const SVG = "http://www.w3.org/2000/svg";

export const h = (kind, ...rest) => build(kind, rest, (tag) => document.createElement(tag));
export const svg = (kind, ...rest) => build(kind, rest, (tag) => document.createElementNS(SVG, tag));

function build(kind, rest, create) {
  const [tag, ...classes] = kind.split(".");
  const element = create(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const part of rest) {
    if (part !== null && typeof part === "object" && part.constructor === Object) attributes(element, part);
    else append(element, part);
  }
  return element;
}

function attributes(element, given) {
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
}

function append(element, part) {
  if (Array.isArray(part)) for (const one of part) append(element, one);
  else if (part !== null && part !== undefined && part !== false && part !== "") element.append(part);
}

// A text for screen readers only.
export const screenReaderText = (text) => h("span.unseen", text);

// A name of an agent. It may be written from right to left. With the agent's id, the page marks the one that is followed.
export const name = (text, id = null) => h("bdi.name", { "data-agent": id }, text);

// A text of at most `most` characters, for a drawing.
export const shorten = (text, most) => {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, Math.max(1, most - 1)).join("")}…` : text;
};

export const agentLabel = (agent) => [
  h("a", { href: `#/agents/${agent.id}` }, name(agent.name, agent.id)),
  " ",
  h("span.id", agent.id),
];

export const matchLink = (id) => h("a", { href: `#/matches/${id}` }, id);

// A sentence with the name of each player in place of its id.
export const withNames = (sentence, ...agents) => named(sentence, agents, (agent) => name(agent.name, agent.id));

// The same as plain text, for a drawing. Each name is isolated, because it may be written from right to left.
export const namesInText = (sentence, ...agents) =>
  named(sentence, agents, (agent) => `\u2068${agent.name}\u2069`).join("");

// The same with the name before the id.
export const withNamesAndIds = (sentence, ...agents) =>
  named(sentence, agents, (agent) => [name(agent.name, agent.id), ` (${agent.id})`]);

// The same, and each name leads to its player.
export const linked = (sentence, ...agents) =>
  named(sentence, agents, (agent) => h("a", { href: `#/agents/${agent.id}` }, name(agent.name, agent.id)));

function named(sentence, agents, shown) {
  const known = new Map(agents.map((agent) => [agent.id, agent]));
  return sentence.split(/\b((?:P|REF)\d{2,9})\b/).map((part) => (known.has(part) ? shown(known.get(part)) : part));
}

// What is shown instead of a page: that it is loading, that there is none, or why it cannot be shown.
export const instead = (heading, ...sentences) => h(
  "section.instead",
  h("h1", { tabindex: "-1" }, heading),
  sentences.map((sentence) => h("p", sentence)),
  h(
    "p.more",
    h("a", { href: "#/" }, "The league"),
    h("a", { href: "#/rounds" }, "Its rounds"),
    h("a", { href: "#/agents" }, "Its agents"),
  ),
);

// columns: [title, class, other attributes of the head]; rows: {key, kind, cells}, of which the cell at the place `headed` heads its row. A table
// without links that may be too wide `scrolls`: it can be reached by the keyboard.
export function table(caption, columns, rows, { kind = "", headed = 0, hidden = false, scrolls = false } = {}) {
  const cells = (row) =>
    row.cells.map((cell, place) => {
      const [, style] = columns[place];
      const attributes = style ? { class: style } : {};
      return place === headed ? h("th", { scope: "row", ...attributes }, cell) : h("td", attributes, cell);
    });
  return h(
    "div.wide",
    scrolls ? { tabindex: "0", role: "region", "aria-label": caption } : {},
    h(
      "table",
      { class: kind },
      h("caption", { class: hidden ? "unseen" : null }, caption),
      h("thead", h("tr", columns.map(([title, style, more]) => h("th", { scope: "col", class: style || null, ...more }, title)))),
      h("tbody", rows.map((row) => h("tr", { "data-key": row.key, class: row.kind ?? null }, cells(row)))),
    ),
  );
}

export function show(target, ...fresh) {
  const focused = document.activeElement;
  patch(target, h("div", ...fresh), true);
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

function patch(there, fresh, childrenOnly = false) {
  if (there.nodeType === Node.TEXT_NODE) {
    if (there.data !== fresh.data) there.data = fresh.data;
    return;
  }
  if (!childrenOnly) patchAttributes(there, fresh);
  const keyed = new Map();
  for (const child of there.children) if (child.dataset.key !== undefined) keyed.set(child.dataset.key, child);
  let next = there.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = child.dataset?.key;
    const found = key === undefined ? next : keyed.get(key);
    if (found && isLike(found, child)) {
      if (found === next) next = next.nextSibling;
      else there.insertBefore(found, next);
      patch(found, child);
    } else there.insertBefore(child, next);
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

const isLike = (one, other) => one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;

// Attributes that the reader sets by unfolding, writing or choosing. They are not reset.
const USER_ATTRIBUTES = new Set(["open", "value", "checked"]);

function patchAttributes(there, fresh) {
  for (const { name: attribute, value } of fresh.attributes) {
    if (there.getAttribute(attribute) !== value) there.setAttribute(attribute, value);
  }
  for (const { name: attribute } of [...there.attributes]) {
    if (!fresh.hasAttribute(attribute) && !USER_ATTRIBUTES.has(attribute)) there.removeAttribute(attribute);
  }
}
