// A seat in the browser. Everything that others wrote (names, reasons) only ever becomes text.

import { drawing, moveText } from "./pictures.js";

// Under its path: a proxy may serve several gateways at one address.
const STORAGE_KEY = `leaguekit.seat${location.pathname.replace(/\/$/, "")}`;
const LEAGUE_INTERVAL_MS = 5000;
const RETRY_MS = 2000;
const WORDS = {
  your_turn: "It is your turn.",
  waiting: "No move is wanted of you now. This page says so when one is.",
  over: "The league is over.",
};
const RESULTS = { WIN: "won", LOSS: "lost", DRAW: "drew" };

const $ = (id) => document.getElementById(id);
let code = sessionStorage.getItem(STORAGE_KEY);
let turn = null;
// The question that was asked last, and the move that was made.
let last = null;
let made;
// The match of the moves that are shown.
let shownMatch = null;
// Of all players, by their ids.
let names = {};
let ends = 0;
let ownId = null;

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, body) {
  const headers = { "content-type": "application/json" };
  if (code) headers.authorization = `Bearer ${code}`;
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, found.error);
  return found;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

function showError(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text;
}

// Which seat

function showForm(refused = "") {
  $("seat").hidden = true;
  $("join").hidden = false;
  $("refused").textContent = refused;
}

$("join").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  if (button) button.disabled = true;
  $("refused").textContent = "";
  try {
    const typed = $("code").value.trim();
    code = null;
    const joined = await ask("api/join", { name: $("name").value.trim() || null, code: typed || null });
    code = joined.code;
    sessionStorage.setItem(STORAGE_KEY, code);
    follow(code);
  } catch (error) {
    $("refused").textContent = error.message;
  } finally {
    if (button) button.disabled = false;
  }
});

$("leave").addEventListener("click", () => {
  code = null;
  sessionStorage.removeItem(STORAGE_KEY);
  showForm();
  $("name").focus();
});

// The state of the seat

async function follow(own) {
  $("join").hidden = true;
  $("seat").hidden = false;
  let version = null;
  while (code === own) {
    try {
      const state = await ask(version === null ? "api/seat" : `api/seat?version=${version}`);
      if (code !== own) return;
      version = state.version;
      showError("");
      if (state.asked && !Object.hasOwn(names, state.asked.opponent_id)) await showLeague();
      show(state);
      showLeague();
      // What was asked for just now may be older than the last result.
      setTimeout(showLeague, RETRY_MS);
    } catch (error) {
      if (code !== own) return;
      if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
        code = null;
        sessionStorage.removeItem(STORAGE_KEY);
        showForm(error.message);
        return;
      }
      showError(error instanceof Refused ? error.message : "The gateway does not answer; trying again …");
      version = null;
      await pause(RETRY_MS);
    }
  }
}

function show(state) {
  $("own-name").textContent = state.name;
  ownId = state.player_id;
  $("own-id").textContent = ownId ? `(${ownId})` : "";
  $("own-code").textContent = code;
  const rank = state.rank ? ` You are number ${state.rank}.` : "";
  const said = (WORDS[state.status] ?? state.say) + rank;
  // What does not change is not read out again.
  if ($("status").textContent !== said) $("status").textContent = said;
  showTurn(state);
  const { wins, draws, losses, points } = state.record;
  $("record").textContent = `(${wins} won, ${draws} drawn, ${losses} lost, ${points} points)`;
  $("matches").replaceChildren(...[...state.matches].reverse().map(matchRow));
  hideIf(state.matches.length === 0, "matches");
  showOutcome(state.matches.at(-1));
  $("automatic").replaceChildren(...state.automatic.map((text) => item(text)));
}

// A table without results says nothing.
function hideIf(isEmpty, id) {
  $(id).closest("table").hidden = isEmpty;
}

// The result of the last match in words.
function showOutcome(match) {
  const words = RESULTS[match?.result];
  $("outcome").hidden = !words;
  if (!words) return;
  const said = [`You ${words} against `, bdi(names[match.opponent_id] ?? match.opponent_id)];
  if (match.choice !== null) said.push(". You played ", bdi(moveText(match.choice)));
  if (match.opponent_choice !== null) said.push(", your opponent ", bdi(moveText(match.opponent_choice)));
  if (match.reason) said.push(": ", ...withNames(match.reason));
  const outcome = document.createElement("p");
  outcome.append(...said, ".");
  // What does not change is not read out again.
  if ($("outcome").textContent !== outcome.textContent) $("outcome").replaceChildren(...outcome.childNodes);
}

function item(text) {
  const line = document.createElement("li");
  line.textContent = text;
  return line;
}

function bdi(text) {
  const isolated = document.createElement("bdi");
  isolated.textContent = text ?? "–";
  return isolated;
}

function matchRow(match) {
  const line = document.createElement("tr");
  const { match_id, opponent_id, choice, opponent_choice, result, reason } = match;
  for (const value of [match_id, names[opponent_id] ?? opponent_id, choice, opponent_choice, RESULTS[result]]) {
    line.insertCell().append(bdi(value));
  }
  line.insertCell().append(...withNames(reason ?? "–"));
  return line;
}

// A move

function showTurn({ asked, status, matches }) {
  $("clock").hidden = $("time").hidden = asked === null;
  if (asked === null) {
    turn = null;
    document.title = "A seat in the league";
    // Between two moves of a match the position stays visible.
    if (status !== "waiting" || matches.some((match) => match.match_id === shownMatch)) $("turn").hidden = true;
    $("turn-title").textContent = "The other’s move";
    if (last !== null) showMoves(false);
    return;
  }
  ends = performance.now() + asked.seconds_left * 1000;
  if (turn === asked.turn) return;
  turn = asked.turn;
  shownMatch = asked.match_id;
  $("turn-title").textContent = "Your move";
  document.title = "Your move! – A seat in the league";
  $("opponent").textContent = asked.opponent_name ?? names[asked.opponent_id] ?? asked.opponent_id ?? "somebody";
  $("game").textContent = asked.game.replace(/^[^(]*/, (name) => name.replaceAll("_", " "));
  $("in-match").textContent = ` in ${asked.match_id}`;
  $("rules").textContent = asked.rules;
  $("position").textContent = JSON.stringify(asked.position, null, 1);
  $("time").max = asked.seconds_left;
  $("moves").dataset.turn = asked.turn;
  last = asked;
  made = undefined;
  showMoves();
  $("turn").hidden = false;
  tick();
  $("moves").querySelector("button, input, .choice")?.focus();
}

// The position, whose cells are buttons if they stand for legal moves, and a button for each of the other moves.
function showMoves(isOpen = true) {
  const asked = last;
  const { picture, valid_options: legal } = asked;
  const moves = picture.moves ?? [];
  const choose = (move) => (isOpen && isIn(legal, move) ? () => submit(asked, move) : null);
  const marks = (cell, y, x) => (made === undefined ? cell : marked(cell, isIn([moves[y]?.[x]], made)));
  const rows = picture.rows?.map((row, y) => row.map((cell, x) => marks(cell, y, x)));
  $("picture").replaceChildren(drawing({ ...picture, rows }, { named: withNames, choose }));
  const others = legal.filter((move) => !isIn(moves.flat(), move));
  const controls = legal.length === 0 ? [freeInput(asked)] : others.map((move) => option(asked, move));
  $("moves").replaceChildren($("picture"), ...controls);
  for (const control of $("moves").querySelectorAll("button, input")) control.disabled = !isOpen;
}

const isIn = (moves, move) => moves.some((one) => JSON.stringify(one) === JSON.stringify(move));

// Only the cell is marked that was chosen.
const marked = (cell, isChosen) => ({ ...(typeof cell === "string" ? { text: cell } : cell), marked: isChosen });

// A text with the names of players in place of their ids.
const withNames = (text) =>
  text.split(/\b(P\d{2,9})\b/).map((part) => (Object.hasOwn(names, part) ? bdi(names[part]) : part));

function option(asked, move) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(bdi(moveText(move)));
  button.addEventListener("click", () => submit(asked, move));
  return button;
}

// A game of which it is not known what is legal: whatever is written, as JSON if it is some.
function freeInput(asked) {
  const form = document.createElement("form");
  const input = document.createElement("input");
  input.setAttribute("aria-label", asked.move_type);
  const button = document.createElement("button");
  button.textContent = "Move";
  form.append(input, button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    let move = input.value;
    try {
      move = JSON.parse(move);
    } catch {
      // Then it is text.
    }
    submit(asked, move);
  });
  return form;
}

// On a board the arrow keys go from cell to cell.
$("moves").addEventListener("keydown", (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const from = event.target.closest(".choice");
  if (way === undefined || from === null) return;
  event.preventDefault();
  const place = (cell) => ["x", "y"].map((name) => Number(cell.querySelector("rect").getAttribute(name)));
  const [x, y] = place(from);
  const found = [...$("moves").querySelectorAll(".choice")].map((cell) => {
    const [right, down] = [place(cell)[0] - x, place(cell)[1] - y];
    const ahead = right * way[0] + down * way[1];
    return { cell, ahead, far: ahead + 3 * Math.abs(right * way[1] + down * way[0]) };
  }).filter(({ ahead }) => ahead > 0);
  found.sort((one, other) => one.far - other.far)[0]?.cell.focus();
});

async function submit(asked, move) {
  made = move;
  showMoves(false);
  try {
    await ask("api/move", { turn: asked.turn, move });
    $("status").textContent = "Your move is made.";
    showError("");
  } catch (error) {
    showError(error.message);
    // Unless the turn is over meanwhile.
    made = undefined;
    if (turn === asked.turn) showMoves();
  }
}

function tick() {
  if (turn === null) return;
  const left = Math.max(0, ends - performance.now()) / 1000;
  $("time").value = left;
  $("clock").textContent = `${Math.ceil(left)} s left.`;
}
setInterval(tick, 250);

// The league, for everybody

async function showLeague() {
  try {
    const { league_id, standings, dashboard, status } = await ask("api/league");
    $("league").textContent = status?.title || league_id || "the league";
    showProgress(status);
    // An address of this machine alone is of no use to a reader at another one.
    const isHere = (host) => /^(localhost|127\.|\[::1\])/.test(host);
    $("dashboard").hidden = isHere(new URL(dashboard).hostname) && !isHere(location.hostname);
    $("dashboard").href = dashboard;
    $("own-page").hidden = $("dashboard").hidden || !ownId;
    $("own-page").href = `${dashboard}#/agents/${ownId}`;
    names = Object.fromEntries(standings.map((row) => [row.player_id, row.display_name]));
    const hasPayoff = standings.some((row) => "payoff" in row);
    $("payoff").hidden = $("ranked-by").hidden = !hasPayoff;
    $("standings").replaceChildren(...standings.map(standing));
    hideIf(standings.every((row) => row.played === 0), "standings");
  } catch {
    // It will be there the next time.
  }
}

function showProgress(status) {
  $("progress").hidden = status === null;
  const said = status === null ? "" : `${progressOf(status)}.`;
  if ($("progress").textContent !== said) $("progress").textContent = said;
}

// How the league is going, and what it waits for.
function progressOf({ state, paused, round, players, starts_with: start, starts_at: at }) {
  if (state === "LEAGUE_COMPLETED") return "The league is over";
  if (paused) return "The league is paused by its operator";
  if (state === "RUNNING_LEAGUE") return `The league is in progress: ${round}`;
  const here = players === 1 ? "1 player is here" : `${players} players are here`;
  const missing = (start?.players ?? 0) - players;
  if (missing > 0) return `${here}, and the league begins with ${missing} more`;
  if (at) return `${here}. The league begins at ${new Date(at).toLocaleString("en-GB", { timeZoneName: "short" })}`;
  return `${here}. The league begins when its operator starts it`;
}

function standing(row) {
  const line = document.createElement("tr");
  const { rank, display_name, played, wins, draws, losses, points } = row;
  for (const value of [rank, display_name, played, wins, draws, losses, points]) line.insertCell().append(bdi(value));
  if ("payoff" in row) line.insertCell().append(bdi(row.payoff.toFixed(3)));
  return line;
}

showLeague();
setInterval(showLeague, LEAGUE_INTERVAL_MS);
if (code) follow(code);
else showForm();
