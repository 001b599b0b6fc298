// A match: its two sides, its replay step by step, the ruling and its evidence, and the draw and its verification. A match
// that has not begun shows when it does, and how its players have played so far.

import { widthOf } from "./charts.js";
import { h, matchLink, name, namesInText, show, table, withNames, agentLabel } from "./elements.js";
import { stageOrMissing } from "./cards.js";
import { event } from "./league.js";
import { form } from "./standings.js";
import { boardOf, moveText } from "./pictures.js";
import { sequence } from "./sequence.js";
import { countdown, gameOf, isAhead, moment, origins, plural, score, seconds, statusOf, timeLeft } from "./words.js";

export const title = ({ match }) => `${match.a.name} – ${match.b.name}`;

// A replay shows each step for this long, and a long one takes no longer than the second.
const STEP_MS = 900;
const REPLAY_MS = 30_000;
// An answer has as many pictures, and the list of moves as many moves.
const MAX_PICTURES = 50;
const MAX_MOVES = 30;
// A longer list is folded, and so is a longer diagram.
const MAX_FEW = 12;
const MAX_MESSAGES = 30;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// Where the reader is in the replays of this match, and what is shown.
let here = { id: null };
let again = () => {};
let shown = null;
let playing = null;

export async function load(what, get) {
  const data = await get(`api/matches/${encodeURIComponent(what)}`);
  const full = { ...data, computed: await computed(data.draw), pictures: [], blocks: new Set(), get };
  if (data.steps?.length > 0) await loadPictures(full, currentStep(full));
  return full;
}

// The match in play, as the stream has it: the page is drawn again when this has changed.
export const watched = (live, what) => live.playing[what];

const currentStep = ({ match, steps }) =>
  Math.min(here.id === match.match_id ? here.step : Infinity, steps.length - 1);

// A long match has more pictures than one answer. They are loaded in blocks.
function loadPictures(data, step) {
  const block = Math.floor(step / MAX_PICTURES);
  if (data.blocks.has(block)) return null;
  data.blocks.add(block);
  const offset = block * MAX_PICTURES;
  return data.get(`api/pictures/${encodeURIComponent(data.match.match_id)}`, { offset, limit: MAX_PICTURES }).then(
    ({ pictures }) => {
      pictures.forEach((picture, place) => (data.pictures[offset + place] = picture));
      if (shown === data) again();
    },
    // The manager is busy. A later step asks again.
    () => setTimeout(() => data.blocks.delete(block), STEP_MS),
  );
}

// Browsers compute digests only for pages that came over TLS or from the same machine.
async function computed(draw) {
  const promised = draw?.number ?? draw?.seed;
  if (!draw?.nonce || !promised || !globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${draw.nonce}:${promised}`));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function render(main, data, live) {
  const { match } = data;
  const isNew = here.id !== match.match_id;
  if (isNew) here = { id: match.match_id, step: Infinity, message: Infinity };
  if (shown?.match.match_id !== match.match_id) stop();
  shown = data;
  again = () => render(main, data, live);
  // A replay begins by itself. A reader who wants no motion begins it.
  if (isNew && data.steps.length > 2 && !reducedMotion.matches) play();
  // At the end of the match the stream has it no more, before its page is requested again.
  here.live = live?.playing[match.match_id] ?? here.live;
  const now = { ...data.in_play, ...here.live };
  show(
    main,
    neighbours(data),
    h("h1", { tabindex: "-1" }, name(match.a.name), " – ", name(match.b.name)),
    h(
      "p.soft",
      h("a", { href: `#/rounds/${match.round_id}` }, `Round ${match.round_id}`),
      ` · match ${match.match_id} · ${gameOf(data.game)} · ${statusOf(match)}`,
      match.referee_id && [" · referee ", h("a", { href: `#/agents/${match.referee_id}` }, match.referee_id)],
      match.ended_at && [" · ended at ", moment(match.ended_at)],
      match.attempt > 1 && ` · attempt ${match.attempt}`,
    ),
    data.flags.map((flag) => h("p.notice", { dir: "auto" }, `For the operator to look at: ${flag}`)),
    sides(match, live?.standings ?? {}, data.steps.length > MAX_FEW),
    data.in_play && inPlay(now, now.picture ?? data.in_play.picture),
    match.status !== "ended" && !data.in_play && live && due(match, live.league),
    stated(data),
    h("div.halves", h("div", data.steps.length > 1 && game(data)), h("div", match.reason && ruling(data))),
    data.meetings.length > 0 && meetings(data),
    data.messages.length > 0 && messages(data, widthOf(main, 900)),
    match.status === "ended" && data.messages.length === 0 && h(
      "p.soft",
      "Its referee handed no transcript in: what was said in the match is not known here.",
    ),
    data.news.length > 0 && h(
      "section",
      { "aria-labelledby": "news" },
      h("h2", { id: "news" }, "Events"),
      h("ol.log", data.news.map((one) => event(one, [data.match.a, data.match.b]))),
    ),
  );
}

// The replay shows the choices of a game of many moves.
function sides(match, standings, isReplayed) {
  const side = (agent, role, place) =>
    h(
      `div.side-${role}`,
      { class: `team ${role}${match.winner === agent.id ? " won" : ""}` },
      h("p.soft.small", `Player ${role.toUpperCase()}`),
      h("p.large", agentLabel(agent)),
      !isReplayed && match.choices?.[place] && h("p", "chose ", h("bdi.choice", match.choices[place])),
      match.status !== "ended" && soFar(standings[agent.id]),
    );
  return h("div.sides", side(match.a, "a", 0), h("p.score", score(match)), side(match.b, "b", 1));
}

const soFar = (row) =>
  row?.played > 0 && h(
    "p.soft.small",
    `#${row.shown_rank}: ${row.wins} won, ${row.draws} drawn, ${row.losses} lost `,
    form(row.form),
  );

// When a match begins that has not.
function due(match, league) {
  const rounds = match.round_id - league.round;
  let when = "It begins as soon as a referee and both players are free.";
  if (match.status === "held") when = "It waits for the operator.";
  else if (league.paused) when = "The league is paused by its operator.";
  else if (rounds > 0) when = `Round ${match.round_id} begins when round ${match.round_id - 1} is over.`;
  else if (league.starts_at && isAhead(league.starts_at)) when = ["It begins in ", countdown(league.starts_at), "."];
  return h("p.notice", when);
}

const meetings = ({ match, meetings: list }) =>
  h(
    "section",
    { "aria-labelledby": "meetings" },
    h("h2", { id: "meetings" }, "Earlier meetings"),
    h(
      "ul.log",
      list.map((one) => h(
        "li",
        { "data-key": one.match_id },
        matchLink(one.match_id),
        " ",
        name(one.a.name),
        ` ${score(one)} `,
        name(one.b.name),
        h("span.soft", ", ", withNames(one.reason, match.a, match.b)),
      )),
    ),
  );

// What the agents themselves say of where their moves came from.
const stated = ({ match, moves }) =>
  [match.a, match.b].filter((agent) => moves[agent.id]).map((agent) =>
    h(
      moves[agent.id].replaced > 0 ? "p.notice" : "p.soft.small",
      "Moves of ",
      name(agent.name),
      `, as it states: ${origins(moves[agent.id])}`,
      moves[agent.id].reason && [". The first was replaced because ", h("q", { dir: "auto" }, moves[agent.id].reason)],
    ),
  );

const inPlay = (match, picture) => [
  h("p.notice", stageOrMissing(match), timeLeft(match)),
  picture && h("div.position", boardOf(picture, match)),
];

const neighbours = ({ before, after, meetings: [last] }) =>
  h(
    "nav.neighbours",
    { "aria-label": "Other matches" },
    before && h("a", { href: `#/matches/${before}`, rel: "prev" }, `← ${before}`),
    after && h("a", { href: `#/matches/${after}`, rel: "next" }, `${after} →`),
    last && h("a", { href: `#/matches/${last.match_id}` }, `Last meeting: ${last.match_id}`),
  );

function ruling(data) {
  const { match, verification: found, voids } = data;
  return h(
    "section",
    { "aria-labelledby": "ruling" },
    h("h2", { id: "ruling" }, "Ruling"),
    h(
      "p",
      withNames(match.reason, match.a, match.b),
      ". ",
      h("span.soft", `${match.ruling ?? match.result}, decided by the ${match.decided_by}.`),
    ),
    voids > 0 && h("p.soft", `${plural(voids, "attempt")} before came to nothing.`),
    found && match.decided_by !== "referee" && h("p.soft", "What its referee had reported no longer counts:"),
    data.evidence && evidence(data),
    data.draw && draw(data),
    found && verified(found, data.draw !== null, match.result === "TECHNICAL_LOSS"),
  );
}

// What has many parts is unfolded on demand.
const folded = (count, summary, shown) =>
  count > MAX_FEW ? h("details", h("summary", `${summary} (${count})`), shown(summary)) : shown(summary);

// Evidence is whatever a referee says: any value may be in any place.
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "–");
const MEANINGS = {
  E001: "no answer in time",
  E004: "an illegal move",
  E009: "not reached",
  E012: "a wrong token",
  E045: "no valid answer",
  E057: "an illegal move",
};
const noted = (what) => (Object.hasOwn(MEANINGS, what) ? `${MEANINGS[what]} (${what})` : what);
const number = (value) => (typeof value === "number" ? value : null);

function evidence({ evidence: found, match }) {
  const sided = [match.a, match.b].filter((agent) => Array.isArray(found.players?.[agent.id]?.events));
  const rows = sided.flatMap((agent) =>
    found.players[agent.id].events.filter((one) => one !== null && typeof one === "object").map((one, place) => ({
      key: `${agent.id}-${place}`,
      cells: [
        name(agent.name),
        h("span", { dir: "auto" }, noted(text(one.what))),
        seconds(number(one.at)),
        number(one.at) === null || number(one.asked_at) === null ? "–" : seconds(one.at - one.asked_at),
      ],
    })),
  );
  const wrong = sided.filter((agent) => found.players[agent.id].last_wrong);
  return [
    h("h3", "Evidence"),
    rows.length > 0 && folded(
      rows.length,
      "What the referee noted of each player",
      (caption) => table(
        caption,
        [["Player", "who"], ["What", ""], ["At", "n"], ["Took", "n"]],
        rows,
        { hidden: true },
      ),
    ),
    wrong.map(
      (agent) => h(
        "p",
        "The last wrong answer of ",
        name(agent.name),
        ": ",
        h("q", { dir: "auto" }, text(found.players[agent.id].last_wrong)),
      ),
    ),
    h("details", h("summary", "As the referee reported it"), h("pre", { dir: "auto" }, JSON.stringify(found, null, 2))),
  ];
}

function draw({ draw: found, computed: digest }) {
  const what = found.seed ? "seed" : "number";
  const tellable = found.nonce && found[what] !== null;
  const agrees = digest === null ? found.opens : digest === found.commitment;
  const by = digest === null ? "The manager has computed it" : "Your browser has just computed it";
  return [
    h("h3", "The draw"),
    h(
      "dl.draw",
      [
        ["Committed to before the choices", h("code", found.commitment)],
        ["Nonce, shown afterwards", found.nonce ? h("code", found.nonce) : "not shown"],
        found.seed ? ["Seed, from which chance follows", h("code", found.seed)] : ["Number", found.number ?? "none"],
      ].map(([term, value]) => [h("dt", term), h("dd", value)]),
    ),
    tellable &&
      h(
        `p.${agrees ? "good" : "bad"}`,
        agrees
          ? `✓ SHA-256 of “nonce:${what}” is what was committed to: the ${what} was not chosen afterwards. ${by}.`
          : `✗ SHA-256 of “nonce:${what}” is not what was committed to. ${by}.`,
      ),
  ];
}

function verified(found, isDrawn, isTechnical) {
  const line = (is, good, not) => h("li", { class: is ? "good" : "soft" }, is ? `✓ ${good}` : `– ${not}`);
  return [
    h("h3", "Checked by the manager"),
    h(
      "ul.checks",
      line(
        found.replayed,
        "these choices lead to this result by the rules",
        isTechnical ? "a technical loss does not follow from choices" : "the rules could not be applied again",
      ),
      isDrawn && line(found.opened, "the draw is the one that was committed to", "there is no commitment to open"),
      isDrawn && line(
        found.derived,
        "the draw is the one that the league’s seed gives",
        "the league’s seed is not shown before its end",
      ),
      found.faults.map((fault) => h("li.bad", { dir: "auto" }, `✗ ${fault}`)),
      found.not_checkable.map((what) => h("li.soft", { dir: "auto" }, `– not checkable: ${what}`)),
    ),
  ];
}

// Buttons that go through `count` steps. The arrow keys do the same.
function stepper(label, key, count, text, more) {
  const at = Math.min(here[key], count - 1);
  const to = (step) => () => {
    stop();
    here[key] = Math.max(0, Math.min(Math.min(here[key], count - 1) + step, count - 1));
    again();
  };
  const button = (words, step, off) => h(
    "button",
    { type: "button", onclick: to(step), "aria-disabled": off ? "true" : null },
    words,
  );
  return h(
    "div.stepper",
    {
      role: "group",
      "aria-label": label,
      onkeydown: (pressed) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[pressed.key];
        if (step === undefined || pressed.shiftKey) return;
        pressed.preventDefault();
        to(step)();
      },
    },
    button("First", -count, at === 0),
    button("Back", -1, at === 0),
    button("Next", 1, at === count - 1),
    button("Last", count, at === count - 1),
    more,
    h("span", { role: "status" }, text(at)),
  );
}

function game(data) {
  const { match, steps } = data;
  const at = currentStep(data);
  if (data.pictures[at] === undefined) loadPictures(data, at);
  else here.picture = data.pictures[at];
  const movers = { A: match.a.name, B: match.b.name, chance: "Chance" };
  const played = steps.slice(1, at + 1).flatMap(({ moves }, place) =>
    Object.entries(moves).map(([side, move]) =>
      h(
        "li",
        { "data-key": `${place}-${side}` },
        name(movers[side]),
        ": ",
        h("bdi.choice", moveText(move)),
      ),
    ),
  );
  const first = Math.max(0, played.length - MAX_MOVES);
  return h(
    "section.game",
    { "aria-labelledby": "game" },
    h("h2", { id: "game" }, "The game, step by step"),
    stepper(
      "Steps of the game",
      "step",
      steps.length,
      (step) => (step === 0 ? "At the beginning" : `After step ${step} of ${steps.length - 1}`),
      [
        steps.length > 2 && h("button", { type: "button", onclick: toggle }, playing === null ? "Play" : "Pause"),
        h("button", { type: "button", onclick: savePicture }, "Save as a picture"),
      ],
    ),
    h(
      "div.position",
      here.picture && boardOf(here.picture, match),
      // The newest move is beside the board, at the top.
      h("ol.moves", { reversed: true, start: played.length }, played.slice(first).reverse()),
    ),
    h("p.soft.small.keys", "Keys: ← and → step; Space plays; with Shift, ← and → lead to the match before and after."),
  );
}

function toggle() {
  if (playing !== null) stop();
  else play();
  again();
}

function play() {
  if (currentStep(shown) === shown.steps.length - 1) here.step = 0;
  playing = setInterval(advance, Math.min(STEP_MS, REPLAY_MS / shown.steps.length));
}

function stop() {
  clearInterval(playing);
  playing = null;
}

function advance() {
  const isGone = document.querySelector("section.game") === null;
  if (!isGone) here.step = Math.min(currentStep(shown) + 1, shown.steps.length - 1);
  if (isGone || here.step === shown.steps.length - 1) stop();
  if (!isGone) again();
}

// The position that is shown, as a file that can be sent to others.
async function savePicture() {
  const { match } = shown;
  const { save } = await import("./share.js");
  await save(document.querySelector("section.game figure"), {
    heading: document.title.split(" · ").at(-1),
    players: `${match.a.name} – ${match.b.name}`,
    score: score(match),
    reason: namesInText(match.reason ?? "", match.a, match.b),
    file: `${match.match_id}.png`,
  });
}

addEventListener("keydown", (pressed) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[pressed.key];
  const isElsewhere = pressed.target.closest?.("input, textarea, select, dialog, pre, .wide") ?? false;
  const isOther = pressed.defaultPrevented || pressed.altKey || pressed.ctrlKey || pressed.metaKey;
  const isButton = pressed.target.closest?.("button, a, summary") ?? false;
  if (pressed.key === " " && shown?.steps.length > 2 && !isElsewhere && !isOther && !isButton) {
    if (document.querySelector("section.game") === null) return;
    pressed.preventDefault();
    toggle();
  }
  if (step === undefined || isElsewhere || isOther || document.querySelector("nav.neighbours") === null) return;
  if (pressed.shiftKey) document.querySelector(`nav.neighbours a[rel=${step < 0 ? "prev" : "next"}]`)?.click();
  else if (document.querySelector("section.game") !== null) {
    stop();
    here.step = Math.max(0, Math.min(currentStep(shown) + step, shown.steps.length - 1));
    again();
  }
});

function messages({ match, messages: said }, width) {
  const at = Math.min(here.message, said.length - 1);
  const diagram = [
    stepper(
      "Messages",
      "message",
      said.length,
      (place) => `${place + 1} of ${said.length}: ${inWords(said[place], match)}`,
    ),
    h(
      "div.wide",
      { tabindex: "0", role: "region", "aria-label": "Diagram of messages" },
      sequence(match, said, width, at),
    ),
  ];
  return h(
    "section",
    { "aria-labelledby": "messages" },
    h("h2", { id: "messages" }, "What was said"),
    h("p.soft.small", "As the referee saw it. Time runs downwards; long waits are drawn shortened."),
    said.length > MAX_MESSAGES ? h("details", h("summary", `As a diagram of ${said.length} messages`), diagram) : diagram,
    h(
      "details",
      h("summary", "As a list, with all that the messages say"),
      h("ol.transcript", said.map((message, place) => entry(message, match, place))),
    ),
  );
}

const inWords = ({ message_type: type, what, text }, { a, b }) =>
  [type ?? what, namesInText(text, a, b)].filter(Boolean).join(", ");

function entry(message, match, place) {
  const agent = [match.a, match.b].find((one) => one.id === message.player_id);
  const way = { sent: "to ", received: "from ", failed: "not delivered to ", ruled: "ruled" }[message.what];
  return h(
    "li",
    { "data-key": place },
    h(
      "p",
      h("span.soft", `${message.seconds.toFixed(3)} s `),
      way,
      agent && name(agent.name),
      " ",
      message.message_type && h("code", message.message_type),
      " ",
      h("span", { dir: "auto" }, withNames(message.text, match.a, match.b)),
    ),
    Object.keys(message.body).length > 0 && h(
      "details",
      h("summary", "Its fields"),
      h("pre", { dir: "auto" }, JSON.stringify(message.body, null, 2)),
    ),
    message.wire.length > 0 && h(
      "details",
      h("summary", "What was really sent and received"),
      message.wire.map((text, number) => h("pre", { dir: "auto", "data-key": number }, text)),
    ),
  );
}
