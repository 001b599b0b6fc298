// The operator's page. The admin token is stored for this tab only, and sent with commands only.

import { command, Refused } from "./data.js";
import { h, name, show, table } from "./elements.js";
import { event } from "./league.js";
import { moment, score, seconds, stateOf, statusOf } from "./words.js";

export const title = () => "Operator";

// Under its path: a proxy may serve several leagues at one address.
const KEY = `admin_token${location.pathname.replace(/\/$/, "")}`;
// Without session storage, the token must be entered again after every load.
const memory = {
  token: "",
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? this.token;
    } catch {
      return this.token;
    }
  },
  set(token) {
    this.token = token;
    try {
      if (token) sessionStorage.setItem(KEY, token);
      else sessionStorage.removeItem(KEY);
    } catch {
      // Then it is kept as long as the page is.
    }
  },
};

// The answer to the last command, the seats, and the settings that may change.
let lastAnswer = null;
let seats = [];
let settings = {};
let refused = [];
let codes = [];
// The round whose matches the operator chooses from; null for the one that was announced last.
let chosenRound = null;
let again = () => {};

export async function load(_what, get) {
  const [{ news }, { metrics }, { rounds }, agents] = await Promise.all([
    get("api/operations"),
    get("api/metrics"),
    get("api/rounds"),
    loadAllAgents(get),
    memory.get() && loadForOperator(),
  ]);
  const data = {
    news,
    metrics,
    rounds: rounds.filter((round) => round.announced_at),
    get,
    players: agents.filter((agent) => agent.role === "player"),
  };
  await loadMatches(data);
  return data;
}

async function loadMatches(data) {
  const { rounds, get } = data;
  data.round = chosenRound ?? rounds.at(-1)?.round_id;
  data.matches = rounds.length === 0 ? [] : (await get(`api/rounds/${data.round}`)).matches;
}

async function loadAllAgents(get) {
  const all = [];
  for (let more = true; more; ) {
    const { agents, total } = await get("api/agents", { offset: all.length });
    all.push(...agents);
    more = agents.length > 0 && all.length < total;
  }
  return all;
}

export function render(main, data, live) {
  again = () => render(main, data, live);
  const isIn = memory.get() !== "";
  show(
    main,
    h("h1", { tabindex: "-1" }, "Operator"),
    h(
      "p",
      { id: "answer", role: "status", class: lastAnswer ? `notice ${lastAnswer.kind}` : null, dir: "auto" },
      lastAnswer?.text,
    ),
    isIn ? panel(data, live) : loginForm(),
    h("section", { "aria-labelledby": "events" }, h("h2", { id: "events" }, "What operators did"), events(data)),
    success(data.metrics),
  );
}

function loginForm() {
  return h(
    "form.card",
    { "data-key": "entrance", onsubmit: logIn, autocomplete: "off" },
    h("p", "The admin token is in the file that the manager named when it started. It is kept in this tab only."),
    field(
      "Admin token",
      h("input", { name: "token", type: "password", required: true, autocomplete: "off", spellcheck: "false" }),
    ),
    h("button", { type: "submit" }, "Come in"),
  );
}

async function logIn(submitted) {
  submitted.preventDefault();
  memory.set(new FormData(submitted.target).get("token").trim());
  lastAnswer = null;
  await loadForOperator();
  again();
}

async function loadForOperator() {
  try {
    seats = (await command("seats", memory.get())).seats;
    ({ refused } = await command("agents", memory.get()));
    const { settings: all, changeable } = await command("settings", memory.get());
    settings = Object.fromEntries(changeable.map((key) => [key, all[key]]));
  } catch (error) {
    if (!(error instanceof Refused) || error.isBusy) return;
    memory.set("");
    lastAnswer = { kind: "bad", text: error.message };
  }
}

function logOut() {
  memory.set("");
  [seats, settings, refused, codes, lastAnswer] = [[], {}, [], [], null];
  again();
}

function panel(data, live) {
  const league = live?.league;
  const isOver = league?.state === "LEAGUE_COMPLETED";
  const here = data.players.filter((player) => !player.out);
  const options = (players) => players.map(
    (player) => h("option", { value: player.id, "data-key": player.id }, `${player.id} ${player.name}`),
  );
  const player = (players) => field(
    "Player",
    h(
      "select",
      { name: "player_id", required: true },
      h("option", { value: "" }, "choose …"),
      options(players),
    ),
  );
  const match = (fits) => [
    field(
      "Round",
      h(
        "select",
        { onchange: chooseRound(data), "data-key": "round" },
        data.rounds.map(({ round_id: id, label }) => h(
          "option",
          { value: id, "data-key": id, selected: id === data.round },
          label && label !== `Round ${id}` ? `${id}: ${label}` : id,
        )),
      ),
    ),
    field(
      "Match",
      h(
        "select",
        { name: "match_id", required: true, "data-key": data.round },
        h("option", { value: "" }, "choose …"),
        data.matches.filter(fits).map((one) => h(
          "option",
          { value: one.match_id, "data-key": one.match_id },
          `${one.match_id}: ${one.a.name} – ${one.b.name}, ${one.points ? score(one) : statusOf(one)}`,
        )),
      ),
    ),
  ];
  return h(
    "div.panel",
    { "data-key": "panel" },
    h(
      "p",
      league && [h("strong", stateOf(league)), " · "],
      league?.total_rounds > 0 && `round ${league.round} of ${league.total_rounds} · `,
      h("button", { type: "button", onclick: logOut }, "Leave"),
    ),
    form("The league", [
      commandButton(
        "start",
        "Start",
        `Start the league now? ${here.length} players are here, and each meets all others.`,
        league?.state !== "WAITING_FOR_REGISTRATIONS",
      ),
      commandButton(
        "pause",
        "Pause",
        "Pause the league? Matches in play are played to their end.",
        league?.state !== "RUNNING_LEAGUE" || league.paused,
      ),
      commandButton("resume", "Resume", "Go on with the league?", !league?.paused || isOver),
    ], [reason()]),
    form("Add a player that never registers", [commandButton("add_player", "Add", "Add this player?")], [
      field(
        "Endpoint",
        h(
          "input",
          {
            name: "endpoint",
            type: "url",
            required: true,
            placeholder: "http://127.0.0.1:8107/mcp",
            autocomplete: "off",
          },
        ),
      ),
      field("Name", h("input", { name: "display_name", maxlength: "50", autocomplete: "off" })),
    ]),
    form("A player", [
      commandButton(
        "withdraw",
        "Withdraw",
        "Withdraw this player? It loses its open match and all later ones, until it is readmitted.",
      ),
      commandButton(
        "disqualify",
        "Disqualify",
        "Disqualify this player? It loses its open match and all later ones, until it is readmitted.",
      ),
    ], [player(here), reason()]),
    form("A player that left, or lost its token", [
      commandButton(
        "readmit",
        "Readmit",
        "Readmit this player? It plays its next matches, and may register again without its token.",
      ),
    ], [player(data.players), reason()]),
    data.rounds.length > 0 && form(
      "A match",
      [commandButton("rematch", "Play again", "Have this match played again? Its result no longer counts.")],
      [match(canBePlayedAgain), reason()],
    ),
    data.rounds.length > 0 && form("A result", [commandButton("correct", "Correct", "Correct this result? The table is counted again.")], [
      match(() => true),
      field(
        "Outcome",
        h(
          "select",
          { name: "outcome", required: true },
          h("option", { value: "" }, "choose …"),
          h("option", { value: "draw", "data-key": "draw" }, "draw"),
          h("option", { value: "none", "data-key": "none" }, "both lose"),
          options(data.players),
        ),
      ),
      reason(),
    ]),
    form("Settings", [commandButton("set", "Change", "Change these settings? They hold for the matches to come.")], [
      h(
        "div.places",
        Object.entries(settings).map(([key, value]) => field(
          key.replaceAll("_", " "),
          h("input", { name: key, value, placeholder: value, autocomplete: "off", "data-key": key }),
        )),
      ),
    ]),
    form("Seats", [commandButton("seats_new", "Make seats", "Make new seats? Their codes are shown once.")], [
      field("How many", h("input", { name: "count", type: "number", min: "1", max: "1000" })),
      field(
        "Or for whom: a line for each, with a name, and after a comma an e-mail address",
        h("textarea", { name: "people", rows: "3", autocomplete: "off", spellcheck: "false" }),
      ),
    ], [codeList(), seatTable()]),
    refused.length > 0 && refusedTable(),
  );
}

const refusedTable = () =>
  h(
    "section.card",
    { "data-key": "refused" },
    h("h2", "Refused registrations"),
    table(
      "Agents that tried to register and were refused, the latest first",
      [["Agent", "who"], ["Role", ""], ["Endpoint", ""], ["From", "less"], ["Times", "n"], ["Why", "why"], ["Last at", "less"]],
      refused.map((one) => ({
        key: `${one.role} ${one.endpoint} ${one.address} ${one.display_name}`,
        cells: [
          name(one.display_name || "–"),
          one.role,
          h("bdi", one.endpoint || "–"),
          one.address || "–",
          one.count,
          h("span", { dir: "auto" }, `${one.reason} (${one.code})`),
          moment(one.last_at),
        ],
      })),
      { kind: "full", hidden: true, scrolls: true },
    ),
  );

const canBePlayedAgain = ({ status }) => status === "ended" || status === "held";

const chooseRound = (data) => async (changed) => {
  chosenRound = Number(changed.target.value);
  try {
    await loadMatches(data);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    lastAnswer = { kind: "bad", text: error.message };
  }
  again();
};

const field = (label, input) => h("label", h("span", label), input);
const reason = () => field(
  "Reason, kept in the log",
  h("input", { name: "reason", maxlength: "200", autocomplete: "off" }),
);

// A button that sends its form as a command, after the operator has confirmed it.
const commandButton = (what, words, question, off = false) =>
  h(
    "button",
    { type: "submit", name: "command", value: what, "data-question": question, disabled: off, "data-key": what },
    words,
  );

const form = (heading, buttons, fields, more = []) =>
  h(
    "section.card",
    { "data-key": heading },
    h("form", { onsubmit: submit, autocomplete: "off" }, h("h2", heading), fields, h("p.deeds", buttons)),
    more,
  );

async function submit(submitted) {
  submitted.preventDefault();
  const button = submitted.submitter;
  const given = Object.fromEntries([...new FormData(submitted.target)].map(([key, value]) => [key, value.trim()]));
  if (button.value === "set") {
    for (const [key, value] of Object.entries(given)) if (value === String(settings[key] ?? "")) delete given[key];
  }
  // What the operator has chosen, as it was there to be read.
  const shown = Object.entries(given).map(([key, value]) => {
    const chosen = submitted.target.elements[key].selectedOptions?.[0];
    return [key, chosen ? chosen.textContent : value];
  });
  if (!(await confirmed(button.dataset.question, button.textContent, Object.fromEntries(shown)))) return;
  if (await sendCommand(button.value, parameters(button.value, given))) submitted.target.reset();
}

// The parameters of a command, from the texts of its form.
function parameters(what, given) {
  if (what === "set") {
    const number = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
    return {
      settings: Object.fromEntries(
        Object.entries(given).map(([key, text]) => [key, key === "title" ? text : number(text)]),
      ),
    };
  }
  if (what !== "seats_new") return given;
  const people = given.people.split("\n").filter((line) => line.trim());
  if (!people.length) return { count: Number(given.count) };
  return {
    people: people.map((line) => {
      const [person, email = ""] = line.split(/[,;\t]/);
      return [person.trim(), email.trim()];
    }),
  };
}

async function sendCommand(what, given) {
  const words = what.replace("_", " ");
  try {
    // Before a league starts, all its players may have to be called.
    lastAnswer = { kind: "quiet", text: `Asking the manager: ${words} …` };
    again();
    const result = await command(what, memory.get(), given);
    // A manager of an older release does not send what it did.
    lastAnswer = { kind: "good", text: result.done ?? `Done: ${words}.` };
    if (what === "seats_new") codes = result.seats;
    await loadForOperator();
    return true;
  } catch (error) {
    lastAnswer = {
      kind: "bad",
      text: error instanceof Refused
        ? error.message
        : "The manager cannot be reached. Whether it was done is not known.",
    };
    return false;
  } finally {
    again();
  }
}

function confirmed(question, words, given) {
  let resolve;
  const promise = new Promise((resolved) => (resolve = resolved));
  const shown = Object.entries(given).filter(([, value]) => value !== "");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "question", onclose: () => (resolve(dialog.returnValue === "yes"), dialog.remove()) },
    h(
      "form",
      { method: "dialog" },
      h("p", { id: "question" }, h("strong", question)),
      h("dl.draw", shown.map(([key, value]) => [h("dt", key.replace("_", " ")), h("dd", h("bdi", value))])),
      h(
        "p.deeds",
        h("button", { value: "no", autofocus: true }, "No"),
        h("button", { value: "yes" }, `Yes: ${words.toLowerCase()}`),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return promise;
}

function codeList() {
  return (
    codes.length > 0 &&
    h(
      "div.meaning",
      { "data-key": "codes" },
      h("p", "These codes are shown once. A player comes in with its code in the manager’s URL:"),
      table(
        "New seat codes",
        [["Seat", ""], ["For", "who"], ["Manager’s URL", ""]],
        codes.map(
          (seat) => ({
            key: seat.id,
            cells: [
              seat.id,
              seat.name ? name(seat.name) : "–",
              h("code", `${new URL("mcp", location.href)}?seat=${seat.code}`),
            ],
          }),
        ),
        { hidden: true, scrolls: true },
      ),
    )
  );
}

function seatTable() {
  if (!seats.length) return h(
    "p.soft",
    { "data-key": "none" },
    "There are no seats: everybody may come in, unless the manager was started with --require-seat.",
  );
  const revoke = (seat) => async () => {
    const shown = { seat: seat.id, for: seat.name, player: seat.display_name ?? "" };
    const isMeant = await confirmed("Revoke this seat? Its code opens nothing any more.", "Revoke", shown);
    if (isMeant) await sendCommand("seats_revoke", { seat: seat.id });
  };
  return h(
    "ul.places",
    { "aria-label": "Seats" },
    seats.map((seat) => h(
      "li",
      { "data-key": seat.id },
      h("strong", seat.id),
      " ",
      seat.name && h("span", { title: seat.email || null }, name(seat.name), " "),
      seat.holder ? [
        h("a", { href: `#/agents/${seat.holder}` }, seat.display_name ? name(seat.display_name) : seat.holder),
        " ",
        h("span.id", seat.holder),
        seat.state === "revoked" && " (revoked)",
      ] : h("span.soft", seat.state),
      " ",
      seat.state !== "revoked" && h(
        "button.small",
        { type: "button", onclick: revoke(seat), "aria-label": `Revoke ${seat.id}` },
        "Revoke",
      ),
    )),
  );
}

function events({ news, players }) {
  const theirs = news.filter((one) => one.by_operator).reverse();
  return theirs.length === 0 ? h("p.soft", "Nothing yet.") : h("ol.log", theirs.map((one) => event(one, players)));
}

function success(metrics) {
  const value = (metric) => {
    if (metric.value === null) return "–";
    return metric.unit === "share" ? `${Number((100 * metric.value).toFixed(1))} %` : seconds(metric.value);
  };
  const met = (metric) => {
    if (metric.met === null) return h("span.soft", "nothing yet");
    return metric.met ? h("span.up", "✓ yes") : h("span.down", "✗ no");
  };
  return h(
    "section",
    { "aria-labelledby": "metrics" },
    h("h2", { id: "metrics" }, "Success metrics"),
    table(
      "The goals of the specification, and what was measured",
      [
        ["What", ""],
        ["Goal", "n"],
        ["Measured", "n"],
        ["Met", "nowrap"],
        ["Of", "n less"],
        ["Counted", "less soft small"],
      ],
      metrics.map((one) => ({
        key: one.id,
        cells: [one.name, one.goal, value(one), met(one), one.of.toLocaleString("en"), one.counted],
      })),
      { kind: "full", hidden: true, scrolls: true },
    ),
  );
}
