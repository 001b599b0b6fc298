// A player for league.v2, with nothing but Node (18 or newer).
//
// Write your strategy in `choose`. The rest registers, answers every message, saves the history, and ends with the league.

import { createHash, createHmac, randomInt, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const NAME = "My agent";
const GAMES = ["connect_four", "even_odd", "prisoners_dilemma", "rock_paper_scissors", "tic_tac_toe"];

// Your strategy: one of `options`. It may be async. A loop that never ends would block every answer.
//
// `view` is the position. Each game has its own fields: in tic_tac_toe, such as
// {board: "X...O....", moves: [0, 4], your_mark: "X"}. There a cell's number is its place in the board. In games without a
// board there is nothing to see before the choice.
// `history` has your matches so far, the oldest first. Each has game_type, opponent_id, result ("WIN", "DRAW" or "LOSS"),
// choice, opponent_choice and drawn_number.
// `opponent` is the id of this match's opponent. In most leagues a pair meets once, so that `history` has no earlier match
// against it.
export function choose(game, options, view, history, opponent) {
  if (game === "tic_tac_toe" && options.includes(4)) return 4;
  return options[randomInt(options.length)];
}

// By JSON-RPC method: its message type, and the required fields beside the envelope.
const METHODS = {
  notify_round: ["ROUND_ANNOUNCEMENT", "league_id round_id matches"],
  update_standings: ["LEAGUE_STANDINGS_UPDATE", "league_id round_id standings"],
  notify_round_completed: ["ROUND_COMPLETED", "league_id round_id"],
  notify_league_completed: ["LEAGUE_COMPLETED", "league_id champion final_standings"],
  handle_game_invitation: ["GAME_INVITATION", "league_id round_id match_id game_type role_in_match opponent_id"],
  parity_choose: ["CHOOSE_PARITY_CALL", "match_id player_id game_type deadline"],
  choose_parity: ["CHOOSE_PARITY_CALL", "match_id player_id game_type deadline"],
  choose_move: ["GAME_MOVE_CALL", "match_id player_id game_type deadline move_request"],
  notify_match_result: ["GAME_OVER", "match_id game_type game_result"],
  notify_game_error: ["GAME_ERROR", "error_code"],
  league_error: ["LEAGUE_ERROR", "error_code"],
};
// Some callers use the message type as the method.
for (const row of Object.values(METHODS)) METHODS[row[0]] = row;
const ENVELOPE = ["protocol", "message_type", "sender", "timestamp", "conversation_id"];
const FROM_MANAGER = [
  "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "LEAGUE_ERROR",
];
const MAX_BYTES = 1_048_576;

// An error answer: JSON-RPC's number, and the code and name of league.v2.
class Refusal extends Error {
  constructor(number, code, name, detail) {
    super(detail);
    this.error = { code: number, message: name, data: { error_code: code, error_name: name, context: { detail } } };
  }
}

const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");
const log = (text) => console.error(text);
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const errorAnswer = (id, refusal) => ({ jsonrpc: "2.0", id, error: refusal.error });

function parseTime(text) {
  if (/^\d{4}-?\d\d-?\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/.test(text)) {
    const read = Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T/, "$1-$2-$3T"));
    if (!Number.isNaN(read)) return read;
  }
  throw new Refusal(-32602, "E021", "INVALID_TIMESTAMP", `${JSON.stringify(text)} is not a time in UTC.`);
}

function same(shown, expected) {
  const [one, other] = [Buffer.from(String(shown)), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

// The player in one league. Its id, its token and its matches are saved in a file, for a restart.
export class Agent {
  me = { player_id: null, league_id: null, auth_token: null, derived: false };
  history = {};
  invitations = new Map();
  isOver = false;
  // The number of moves by origin, and the errors whose stack has been printed.
  moves = { own: 0, replaced: 0 };
  explained = new Set();

  constructor(manager, file) {
    // A code in the URL is a secret.
    Object.assign(this, { manager, where: manager.split("?")[0], file });
    this.registered = new Promise((resolve) => (this.settle = resolve));
  }

  // Register, and retry until it succeeds. A retry sends the same request, so that the manager recognizes it.
  async register() {
    let request, reply, league, why;
    for (let pause = 0.25, tries = 1; ; pause = Math.min(5, pause * 2), tries++) {
      try {
        league = (await this.ask("ping", {})).result?.league_id;
        request ??= this.registrationRequest(league);
        const answer = await this.ask("register_player", request);
        reply = answer.result ?? answer.error.data;
        if (reply.status === "ACCEPTED") break;
        why = reply.reason ?? reply.context?.detail;
      } catch (failure) {
        reply = undefined;
        why = failure.cause?.message ?? failure.message;
      }
      // The manager may not be running or be too busy, or it called this player before the player could answer.
      if (reply && !["E048", "E059", "E060"].includes(reply.error_code)) {
        throw new Error(`The league does not take ${NAME}: ${why}`);
      }
      // The first time, and then ever more seldom.
      if ((tries & (tries - 1)) === 0) {
        const advice = reply ? "" : " Is --manager right, and is it running?";
        log(`Not registered at ${this.where} yet (${why}).${advice} Trying again.`);
      }
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
    this.me = {
      player_id: reply.player_id,
      league_id: reply.league_id ?? league,
      auth_token: reply.auth_token ?? this.me.auth_token,
      derived: reply.token_scheme === "derived",
    };
    this.save();
    this.settle(true);
    log(`${NAME} is ${this.me.player_id} in ${this.me.league_id}.`);
    if (this.me.league_id?.startsWith("league_check_")) {
      log("This is a conformance check. It provokes errors and losses, but no replaced moves.");
    }
  }

  async ask(method, params) {
    const answer = await fetch(this.manager, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(10_000),
    });
    if ([404, 405].includes(answer.status)) {
      console.error(`What answers at ${this.where} is not a League Manager (HTTP ${answer.status}). Check --manager.`);
      process.exit(2);
    }
    return answer.json();
  }

  // The registration. It has the token if this player has been in that league before.
  registrationRequest(league) {
    const saved = existsSync(this.file) ? JSON.parse(readFileSync(this.file, "utf8")) : { me: {} };
    if (league && saved.me.league_id === league) Object.assign(this, saved);
    return {
      ...this.envelope("LEAGUE_REGISTER_REQUEST", `conv-${randomUUID()}`),
      ...(this.me.auth_token ? { auth_token: this.me.auth_token } : {}),
      player_meta: {
        display_name: NAME, version: "1.0.0", protocol_version: "2.1.0", game_types: GAMES, contact_endpoint: this.endpoint,
      },
    };
  }

  // Write a new file and replace the old one. If this program is killed meanwhile, the old one is intact.
  save() {
    const { me, history } = this;
    writeFileSync(`${this.file}.new`, JSON.stringify({ me, history }, null, 1), { mode: 0o600 });
    renameSync(`${this.file}.new`, this.file);
  }

  // Derived tokens: they prove who an agent is, without revealing its own token.
  derived(...parts) {
    const key = createHash("sha256").update("sign" + this.me.auth_token).digest();
    const text = parts.map((part) => `${Buffer.byteLength(String(part))}:${part}`).join("");
    return "drv-" + createHmac("sha256", key).update(text).digest("base64url");
  }

  // The token for the messages of a match, in one direction between player and referee.
  matchToken(way, message) {
    const match = message.match_id ?? "";
    const attempt = message.attempt ?? this.invitations.get(match)?.attempt ?? 1;
    return this.derived(way, this.me.league_id, match, attempt, message.sender.split(":").at(-1));
  }

  // Check the caller's token. In a league without derived tokens this is not possible.
  check(kind, message) {
    const me = this.me;
    if ((message.player_id ?? me.player_id) !== me.player_id) {
      throw new Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", `This is ${me.player_id}.`);
    }
    if (!me.derived) return;
    const [number, expected] = FROM_MANAGER.includes(kind)
      ? [3001, this.derived("manager", me.league_id, me.player_id)]
      : [4001, this.matchToken("referee to player", message)];
    if (!same(message.auth_token, expected)) {
      throw new Refusal(number, "E012", "AUTH_TOKEN_INVALID", "That is not the token made for this caller.");
    }
  }

  // The answer to a request body: one call or a batch. null if no answer is expected.
  async answer(body) {
    let calls;
    try {
      calls = JSON.parse(body);
    } catch {
      return errorAnswer(null, new Refusal(-32700, "E040", "PARSE_ERROR", "The body is not JSON."));
    }
    if (!Array.isArray(calls) || calls.length === 0) return this.answerOne(calls);
    const answers = (await Promise.all(calls.map((call) => this.answerOne(call)))).filter(Boolean);
    return answers.length ? answers : null;
  }

  async answerOne(call) {
    if (!isObject(call) || call.jsonrpc !== "2.0" || typeof call.method !== "string") {
      return errorAnswer(null, new Refusal(-32600, "E041", "INVALID_REQUEST", "That is not a request of JSON-RPC 2.0."));
    }
    let answer;
    try {
      answer = { jsonrpc: "2.0", id: call.id, result: await this.result(call.method, call.params) };
    } catch (error) {
      if (!(error instanceof Refusal)) log(error.stack);
      const broken = new Refusal(-32603, "E060", "INTERNAL_ERROR", "The player failed.");
      answer = errorAnswer(call.id, error instanceof Refusal ? error : broken);
    }
    return "id" in call ? answer : null;
  }

  async result(method, message) {
    if (method === "ping") return { status: "ok", player_id: this.me.player_id, league_id: this.me.league_id };
    const name = Object.hasOwn(METHODS, method) ? method : method.toUpperCase();
    if (!Object.hasOwn(METHODS, name)) {
      throw new Refusal(-32601, "E042", "METHOD_NOT_FOUND", `There is no method ${method.slice(0, 50)} here.`);
    }
    const [kind, needed] = METHODS[name];
    if (!isObject(message)) throw new Refusal(-32602, "E043", "INVALID_FIELD_TYPE", "params must be an object.");
    const missing = [...ENVELOPE, ...needed.split(" ")].filter((field) => message[field] == null);
    if (missing.length) {
      throw new Refusal(-32602, "E003", "MISSING_REQUIRED_FIELD", `Missing: ${missing.join(", ")}.`);
    }
    if (message.protocol !== "league.v2") {
      throw new Refusal(-32602, "E018", "PROTOCOL_VERSION_MISMATCH", "This player speaks league.v2.");
    }
    if (message.message_type !== kind) {
      throw new Refusal(-32602, "E045", "UNEXPECTED_MESSAGE_TYPE", `${method} carries ${kind}.`);
    }
    parseTime(message.timestamp);
    // Other agents may call before the answer to the registration has arrived.
    if (!(await Promise.race([this.registered, wait(2.5)]))) {
      throw new Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", "This player has not registered.");
    }
    // A referee may leave out the match of an error. Then it is the latest match.
    if (kind === "GAME_ERROR") message.match_id ??= [...this.invitations.keys()].at(-1);
    this.check(kind, message);
    return this.handle(kind, message);
  }

  async handle(kind, message) {
    switch (kind) {
      case "GAME_INVITATION":
        this.invitations.set(message.match_id, message);
        return this.reply(message, "GAME_JOIN_ACK", { arrival_timestamp: now(), accept: true });
      case "CHOOSE_PARITY_CALL": {
        const [choice, info] = await this.decide(message, ["even", "odd"], {});
        return this.reply(message, "CHOOSE_PARITY_RESPONSE", { parity_choice: choice, move_info: info });
      }
      case "GAME_MOVE_CALL": {
        const { valid_options: options, context } = message.move_request;
        const [move, info] = await this.decide(message, options, context);
        return this.reply(message, "GAME_MOVE_RESPONSE", { move_data: move, move_info: info });
      }
      case "GAME_OVER":
        this.remember(message);
        break;
      case "GAME_ERROR":
        log(`The referee reports ${message.error_code}. ${message.consequence ?? ""}`);
        break;
      case "LEAGUE_ERROR":
        log(`The manager reports ${message.error_code} ${message.error_description ?? ""}.`);
        break;
      case "LEAGUE_COMPLETED":
        this.end(message);
    }
    const ack = `${kind.replace("LEAGUE_STANDINGS", "STANDINGS")}_ACK`;
    return this.reply(message, ack, { status: "ACKNOWLEDGED" });
  }

  // An answer with the fields that every answer has.
  reply(message, kind, fields) {
    const { match_id, round_id } = message;
    const derived = this.me.derived && !FROM_MANAGER.includes(message.message_type);
    const auth_token = derived ? this.matchToken("player to referee", message) : (this.me.auth_token ?? undefined);
    const common = this.envelope(kind, message.conversation_id);
    return { ...common, auth_token, player_id: this.me.player_id, match_id, round_id, ...fields };
  }

  envelope(kind, conversation) {
    const sender = `player:${this.me.player_id ?? "unregistered"}`;
    const values = ["league.v2", kind, sender, now(), conversation];
    return Object.fromEntries(ENVELOPE.map((name, place) => [name, values[place]]));
  }

  // Ask the strategy. If it fails or is late, choose a random legal move. `move_info` says whose move it is.
  async decide(call, options, view) {
    const seconds = (parseTime(call.deadline) - parseTime(call.timestamp)) / 1000;
    // The times have no fractions of seconds, and the answer takes time to arrive.
    const limit = Math.max(seconds - 1.5, seconds / 2);
    const opponent = this.invitations.get(call.match_id)?.opponent_id;
    const think = async () => {
      try {
        const move = await choose(call.game_type, [...options], view, Object.values(this.history), opponent);
        const own = options.find((option) => JSON.stringify(option) === JSON.stringify(move));
        return own === undefined ? { fault: `chose ${JSON.stringify(move)}, none of ${JSON.stringify(options)}` } : { own };
      } catch (error) {
        return { fault: `raised ${error}`, stack: error.stack };
      }
    };
    const { own, fault, stack } = (await Promise.race([think(), wait(limit)])) ?? { fault: `took longer than ${limit} s` };
    this.moves[fault ? "replaced" : "own"]++;
    if (!fault) return [own, { origin: "own" }];
    const [move, reason] = [options[randomInt(options.length)], `the strategy ${fault}`];
    log(`${call.match_id}: ${reason}; ${JSON.stringify(move)} is played instead.`);
    // The lines of `choose`.
    if (stack && !this.explained.has(reason)) log(stack.split(/\n +at think/)[0]);
    this.explained.add(reason);
    return [move, { origin: "replaced", reason: reason.slice(0, 200) }];
  }

  // Say how the league ended: the champion, the own place, and how many moves were the strategy's.
  end({ champion, final_standings: rows }) {
    log(`The league is over; the champion is ${champion.display_name}.`);
    const points = rows.find((row) => row.player_id === this.me.player_id)?.points;
    // Equal points are ordered by other rules, or by a lot.
    const ranks = rows.filter((row) => row.points === points).map((row) => row.rank);
    const places = ranks.length === 1 ? `place ${ranks[0]}` : `places ${ranks[0]} to ${ranks.at(-1)}, shared by points`;
    if (points !== undefined) log(`${NAME} has ${points} point${points === 1 ? "" : "s"}: ${places}.`);
    const { own, replaced } = this.moves;
    if (replaced) log(`${replaced} of ${own + replaced} moves were not the strategy's.`);
    this.isOver = true;
  }

  remember(over) {
    const { status, winner_player_id: winner, choices = {}, drawn_number, reason } = over.game_result;
    const opponent_id = this.invitations.get(over.match_id)?.opponent_id;
    const result = status === "DRAW" ? "DRAW" : winner === this.me.player_id ? "WIN" : "LOSS";
    this.history[over.match_id] = {
      game_type: over.game_type, opponent_id, status, result, drawn_number,
      choice: choices[this.me.player_id], opponent_choice: choices[opponent_id],
    };
    this.save();
    log(`${over.match_id}: ${result}. ${reason ?? over.reason ?? ""}`);
  }
}

// Serves POST /mcp; `finished` is called when the end of the league has been acknowledged.
export function serve(agent, finished) {
  return createServer((request, response) => {
    const end = (status, body) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body === null ? "" : JSON.stringify(body), () => agent.isOver && finished());
    };
    if (request.method !== "POST" || request.url.split("?")[0] !== "/mcp") {
      return end(404, { error: "Messages are posted to /mcp." });
    }
    const parts = [];
    let size = 0;
    request.on("data", (part) => {
      size += part.length;
      if (size <= MAX_BYTES) parts.push(part);
    });
    request.on("end", async () => {
      if (size > MAX_BYTES) return end(413, { error: `At most ${MAX_BYTES} bytes are taken.` });
      const answer = await agent.answer(Buffer.concat(parts).toString());
      end(answer === null ? 204 : 200, answer);
    });
  });
}

// The URL at which a manager accepts messages. The address of its page becomes that of /mcp.
// A seat code in the environment variable LEAGUE_SEAT is put into the URL.
function mcpUrl(text) {
  if (!/^https?:\/\/[^/]/.test(text)) throw new Error(`${text} is not a URL such as http://127.0.0.1:8000/mcp.`);
  const url = new URL(text);
  url.hash = "";
  if (url.pathname.endsWith("/")) url.pathname += "mcp";
  if (process.env.LEAGUE_SEAT) url.searchParams.set("seat", process.env.LEAGUE_SEAT);
  return url.href;
}

async function main() {
  const text = (value) => ({ type: "string", default: value });
  const { values } = parseArgs({
    options: {
      manager: text("http://127.0.0.1:8000/mcp"), host: text("127.0.0.1"), port: text("8101"), file: text("state.json"),
    },
  });
  const agent = new Agent(mcpUrl(values.manager), values.file);
  const server = serve(agent, () => process.exit(0));
  // It listens before it registers, because the manager calls it during the registration.
  await new Promise((resolve, reject) => server.once("error", reject).listen(Number(values.port), values.host, resolve));
  agent.endpoint = `http://${values.host}:${server.address().port}/mcp`;
  process.on("SIGINT", () => process.exit(130));
  await agent.register();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((error) => {
    console.error(error.message);
    process.exit(2);
  });
}
