// The shell around every page: which one is shown, the connection, the theme, and what a screen reader announces.

import { follow, get, Refused } from "./data.js";
import { h, instead, show } from "./elements.js";
import { followed, isWall, stored, WALL_PAGE_MS } from "./reader.js";
import { setClock, stateOf, tick, timeZone, zoned } from "./words.js";

// A page exports render(main, data, live), title(data), and either isLive or load(what, get); loaded pages are
// requested again when something has happened, but not more often than this. A page may also export
// watched(live, what): when this part of the stream has changed, it is drawn at once and requested again.
const PAGES = {
  "": () => import("./league.js"),
  rounds: () => import("./rounds.js"),
  cross: () => import("./cross.js"),
  figures: () => import("./figures.js"),
  agents: () => import("./agents.js"),
  matches: () => import("./match.js"),
  operator: () => import("./operator.js"),
};
// The style of all pages but the front page is loaded with the first of them.
let style = null;
const styled = () => (style ??= new Promise((loaded) => {
  document.head.append(h("link", { rel: "stylesheet", href: "static/pages.css", onload: loaded, onerror: loaded }));
}));
const MISSING = {
  title: () => "Not here",
  load: () => ({}),
  render: (shown) => show(shown, instead("Not here", "This league has no page at this address.")),
};
const PAUSE_MS = 1500;
const THEMES = ["auto", "light", "dark"];

const main = document.getElementById("main");
const connection = document.getElementById("connection");
const announcements = document.getElementById("said");

// The player that the reader follows is marked wherever its name is.
const own = new CSSStyleSheet();
document.adoptedStyleSheets = [own];

let live = null;
let page = null;
let data = null;
let shownSeq = -1;
let shownPart;
let turn = 0;
let waiting = null;

// Which page

function route() {
  const [where, ...rest] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/");
  return { where, what: decoded(rest.join("/")) };
}

// Whatever somebody typed behind the #.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function go(isFirst = false) {
  const mine = ++turn;
  const { where, what } = route();
  for (const link of document.querySelectorAll("#pages a")) {
    const here = link.getAttribute("href") === `#/${where}`;
    if (here) link.setAttribute("aria-current", what ? "true" : "page");
    else link.removeAttribute("aria-current");
  }
  const [next] = await Promise.all([Object.hasOwn(PAGES, where) ? PAGES[where]() : MISSING, where && styled()]);
  if (mine !== turn) return;
  page = next;
  data = null;
  shownSeq = -1;
  main.setAttribute("aria-busy", "true");
  main.replaceChildren(h("p.loading", "Loading …"));
  await refresh(mine);
  if (mine !== turn || isFirst) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

async function refresh(mine = turn) {
  clearTimeout(waiting);
  waiting = null;
  if (!page.isLive) {
    const seq = live?.seq ?? -1;
    const part = watchedPart();
    try {
      const found = await page.load(route().what, get);
      if (mine !== turn) return;
      data = found;
      shownSeq = seq;
      shownPart = part;
    } catch (error) {
      if (mine !== turn) return;
      if (error instanceof Refused && error.isBusy) {
        waiting = setTimeout(refresh, PAUSE_MS);
        return;
      }
      main.removeAttribute("aria-busy");
      if (error instanceof Refused) {
        // What was here may be of another league.
        data = null;
        document.title = "Not here";
        show(main, instead("Not here", error.message));
      } else if (data === null) {
        show(main, instead("No connection", "The league cannot be reached. This page tries again when it can."));
      }
      return;
    }
  }
  draw();
}

function draw() {
  if (page === null || (page.isLive ? live === null : data === null)) return;
  try {
    if (page.isLive) page.render(main, live);
    else page.render(main, data, live);
  } catch (error) {
    console.error(error);
    main.removeAttribute("aria-busy");
    show(main, instead("This page cannot be shown", String(error)));
    return;
  }
  const id = live && followed(live.league);
  own.replaceSync(id ? `[data-agent="${CSS.escape(id)}"] { background: var(--mark) }` : "");
  if (main.getAttribute("aria-busy")) performance.mark("shown");
  main.removeAttribute("aria-busy");
  const of = page.title(page.isLive ? live : data);
  document.title = page.isLive || live === null ? of : `${of} · ${live.league.title}`;
}

addEventListener("hashchange", () => go());
addEventListener("redraw", draw);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// What happens

follow(
  (now) => {
    live = now;
    setClock(now.now);
    connection.hidden = true;
    document.body.classList.remove("lost");
    document.getElementById("brand").replaceChildren(h("bdi", now.league.title));
    document.getElementById("state").textContent = stateOf(now.league);
    announce(now.league);
    if (page?.isLive) draw();
    else if (page && isStale() && !document.hidden) {
      if (watchedPart() !== shownPart) draw();
      waiting ??= setTimeout(refresh, PAUSE_MS);
    }
  },
  () => {
    if (!connection.hidden) return;
    connection.replaceChildren(
      "Connection lost: this is how it was at ",
      zoned(new Date().toISOString()),
      ". Trying again …",
    );
    connection.hidden = false;
    document.body.classList.add("lost");
  },
);

const watchedPart = () => (live === null ? undefined : page.watched?.(live, route().what));
const isStale = () => live !== null && (live.seq !== shownSeq || watchedPart() !== shownPart);

const nameOf = (id) => live.standings[id]?.name ?? id;

// A screen reader announces the progress of the league, and not every match.
let before = null;
function announce(league) {
  if (before?.state === league.state && before.round === league.round && before.paused === league.paused) return;
  before = league;
  const isRunning = league.state === "RUNNING_LEAGUE" && league.round > 0;
  const round = isRunning ? `, round ${league.round} of ${league.total_rounds}` : "";
  const champion = league.champion ? `. ${league.first.replace(/\bP\d{2,9}\b/g, nameOf)}` : "";
  announcements.textContent = `${stateOf(league)}${round}${champion}.`;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && page && !page.isLive && isStale()) refresh();
});
setInterval(() => tick(main), 500);
let resized = null;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(draw, 150);
});

// How it looks

const theme = document.getElementById("theme");
function setTheme(chosen) {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.textContent = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" }[chosen];
}
theme.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  stored("theme", next === "auto" ? "" : next);
  setTheme(next);
});
setTheme(document.documentElement.dataset.theme ?? "auto");

const wall = document.getElementById("wall");
// A small screen has no room for the table beside the boards.
const broad = matchMedia("(min-width: 62.01rem)");
function setWall(on) {
  stored("wall", on ? "on" : "");
  document.documentElement.classList.toggle("wall", on && broad.matches);
  wall.setAttribute("aria-pressed", String(on));
  draw();
}
broad.addEventListener("change", () => setWall(stored("wall") === "on"));
wall.addEventListener("click", () => {
  setWall(!isWall());
  if (route().where) location.hash = "#/";
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isWall()) setWall(false);
});
setInterval(() => isWall() && draw(), WALL_PAGE_MS);
setWall(stored("wall") === "on");
document.getElementById("zone").textContent = timeZone();

go(true);
