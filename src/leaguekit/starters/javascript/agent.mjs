// A player for league.v2, with nothing but Node (18 or newer).
//
// Write your strategy in `choose`. The rest registers, answers every message, remembers, and ends with the league.

import { createHash, createHmac, randomInt, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const NAME = "My agent";
const GAMES = ["even_odd", "rock_paper_scissors", "tic_tac_toe"];

// Your strategy: one of `options`. `view` is the position, `history` your matches so far, the oldest first. It may be
// async; a loop that never ends would hold up every answer, so keep an eye on the time.
export function choose(game, options, view, history) {
  if (game === "tic_tac_toe" && options.includes(4)) return 4;
  return options[randomInt(options.length)];
}

// By JSON-RPC method: the message that it carries, and what that must have beside the envelope.
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
// Some callers take the message type itself for the method.
for (const row of Object.values(METHODS)) METHODS[row[0]] = row;
const ENVELOPE = ["protocol", "message_type", "sender", "timestamp", "conversation_id"];
const FROM_MANAGER = [
  "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED", "LEAGUE_ERROR",
];
const MOST_BYTES = 1_048_576;

// Why a call is not carried out: JSON-RPC's number, and the catalogue's code and name.
class Refusal extends Error {
  constructor(number, code, name, detail) {
    super(detail);
    this.error = { code: number, message: name, data: { error_code: code, error_name: name, context: { detail } } };
  }
}

const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");
const say = (text) => console.error(text);
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const failed = (id, refusal) => ({ jsonrpc: "2.0", id, error: refusal.error });

function moment(text) {
  if (/^\d{4}-?\d\d-?\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/.test(text)) {
    const read = Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T/, "$1-$2-$3T"));
    if (!Number.isNaN(read)) return read;
  }
  throw new Refusal(-32602, "E021", "INVALID_TIMESTAMP", `${JSON.stringify(text)} is no time in UTC.`);
}

function same(shown, expected) {
  const [one, other] = [Buffer.from(String(shown)), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

// The player in one league. Who it is, its token and its matches are in a file, for when it is started again.
export class Agent {
  me = { player_id: null, league_id: null, auth_token: null, derived: false };
  history = {};
  invitations = new Map();
  isOver = false;

  constructor(manager, file) {
    Object.assign(this, { manager, file });
    this.registered = new Promise((resolve) => (this.settle = resolve));
  }

  // Registration. A repeat is the same to the letter: so the manager knows it as one.
  async register() {
    let request, told, league, why;
    for (let pause = 0.25; ; pause = Math.min(5, pause * 2)) {
      try {
        league = (await this.ask("ping", {})).result?.league_id;
        request ??= this.introduction(league);
        const answer = await this.ask("register_player", request);
        told = answer.result ?? answer.error.data;
        if (told.status === "ACCEPTED") break;
        why = told.reason ?? told.context?.detail;
      } catch (failure) {
        told = undefined;
        why = failure.cause?.message ?? failure.message;
      }
      // The manager may be away or too busy, or it has called this player a moment too early.
      if (told && !["E048", "E059", "E060"].includes(told.error_code)) {
        throw new Error(`The league does not take ${NAME}: ${why}`);
      }
      say(`Not registered yet (${why}); trying again.`);
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
    this.me = {
      player_id: told.player_id,
      league_id: told.league_id ?? league,
      auth_token: told.auth_token ?? this.me.auth_token,
      derived: told.token_scheme === "derived",
    };
    this.save();
    this.settle(true);
    say(`${NAME} is ${this.me.player_id} in ${this.me.league_id}.`);
  }

  async ask(method, params) {
    const answer = await fetch(this.manager, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(10_000),
    });
    return answer.json();
  }

  // The request; with the token if this player has been in that league before, and so comes back.
  introduction(league) {
    const kept = existsSync(this.file) ? JSON.parse(readFileSync(this.file, "utf8")) : { me: {} };
    if (league && kept.me.league_id === league) Object.assign(this, kept);
    return {
      ...this.envelope("LEAGUE_REGISTER_REQUEST", `conv-${randomUUID()}`),
      ...(this.me.auth_token ? { auth_token: this.me.auth_token } : {}),
      player_meta: {
        display_name: NAME, version: "1.0.0", protocol_version: "2.1.0", game_types: GAMES, contact_endpoint: this.endpoint,
      },
    };
  }

  // Written anew beside the old file: whenever this program is killed, one of them is whole.
  save() {
    const { me, history } = this;
    writeFileSync(`${this.file}.new`, JSON.stringify({ me, history }, null, 1), { mode: 0o600 });
    renameSync(`${this.file}.new`, this.file);
  }

  // Tokens: agents of such a league show each other what proves who they are, and nothing more.
  derived(...parts) {
    const key = createHash("sha256").update("sign" + this.me.auth_token).digest();
    const text = parts.map((part) => `${Buffer.byteLength(String(part))}:${part}`).join("");
    return "drv-" + createHmac("sha256", key).update(text).digest("base64url");
  }

  // The token of a match and its referee, one way or the other.
  ofMatch(way, message) {
    const match = message.match_id ?? "";
    const attempt = message.attempt ?? this.invitations.get(match)?.attempt ?? 1;
    return this.derived(way, this.me.league_id, match, attempt, message.sender.split(":").at(-1));
  }

  // Judge whether the caller may say this; where tokens are not derived, nobody can tell.
  check(kind, message) {
    const me = this.me;
    if ((message.player_id ?? me.player_id) !== me.player_id) {
      throw new Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", `This is ${me.player_id}.`);
    }
    if (!me.derived) return;
    const [number, expected] = FROM_MANAGER.includes(kind)
      ? [3001, this.derived("manager", me.league_id, me.player_id)]
      : [4001, this.ofMatch("referee to player", message)];
    if (!same(message.auth_token, expected)) {
      throw new Refusal(number, "E012", "AUTH_TOKEN_INVALID", "That is not the token made for this caller.");
    }
  }

  // The answer to any text: to one call or to several, and none where none is wanted.
  async answer(body) {
    let calls;
    try {
      calls = JSON.parse(body);
    } catch {
      return failed(null, new Refusal(-32700, "E040", "PARSE_ERROR", "The body is no JSON."));
    }
    if (!Array.isArray(calls) || calls.length === 0) return this.answerOne(calls);
    const answers = (await Promise.all(calls.map((call) => this.answerOne(call)))).filter(Boolean);
    return answers.length ? answers : null;
  }

  async answerOne(call) {
    if (!isObject(call) || call.jsonrpc !== "2.0" || typeof call.method !== "string") {
      return failed(null, new Refusal(-32600, "E041", "INVALID_REQUEST", "That is no request of JSON-RPC 2.0."));
    }
    let given;
    try {
      given = { jsonrpc: "2.0", id: call.id, result: await this.result(call.method, call.params) };
    } catch (error) {
      if (!(error instanceof Refusal)) say(error.stack);
      const broken = new Refusal(-32603, "E060", "INTERNAL_ERROR", "The player failed.");
      given = failed(call.id, error instanceof Refusal ? error : broken);
    }
    return "id" in call ? given : null;
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
    moment(message.timestamp);
    // Others may call before the answer to the registration has been read.
    if (!(await Promise.race([this.registered, wait(2.5)]))) {
      throw new Refusal(4002, "E005", "PLAYER_NOT_REGISTERED", "This player has not registered.");
    }
    // A referee that reports an error may leave out in which match: then it is the latest.
    if (kind === "GAME_ERROR") message.match_id ??= [...this.invitations.keys()].at(-1);
    this.check(kind, message);
    return this.carryOut(kind, message);
  }

  async carryOut(kind, message) {
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
        say(`The referee reports ${message.error_code}. ${message.consequence ?? ""}`);
        break;
      case "LEAGUE_ERROR":
        say(`The manager reports ${message.error_code} ${message.error_description ?? ""}.`);
        break;
      case "LEAGUE_COMPLETED":
        say(`The league is over; the champion is ${message.champion.display_name}.`);
        this.isOver = true;
    }
    const ack = `${kind.replace("LEAGUE_STANDINGS", "STANDINGS")}_ACK`;
    return this.reply(message, ack, { status: "ACKNOWLEDGED" });
  }

  // An answer, with all that every answer carries.
  reply(message, kind, fields) {
    const { match_id, round_id } = message;
    const derived = this.me.derived && !FROM_MANAGER.includes(message.message_type);
    const auth_token = derived ? this.ofMatch("player to referee", message) : (this.me.auth_token ?? undefined);
    const common = this.envelope(kind, message.conversation_id);
    return { ...common, auth_token, player_id: this.me.player_id, match_id, round_id, ...fields };
  }

  envelope(kind, conversation) {
    const sender = `player:${this.me.player_id ?? "unregistered"}`;
    const values = ["league.v2", kind, sender, now(), conversation];
    return Object.fromEntries(ENVELOPE.map((name, place) => [name, values[place]]));
  }

  // Ask the strategy. A legal move is made in time whatever it does, and the league is told whose move it is.
  async decide(call, options, view) {
    const seconds = (moment(call.deadline) - moment(call.timestamp)) / 1000;
    // The times are cut to seconds, and the answer has to travel.
    const limit = Math.max(seconds - 1.5, seconds / 2);
    const think = async () => choose(call.game_type, [...options], view, Object.values(this.history));
    const move = await Promise.race([think().catch((error) => say(error.stack)), wait(limit)]);
    const chosen = options.find((option) => JSON.stringify(option) === JSON.stringify(move));
    if (chosen !== undefined) return [chosen, { origin: "own" }];
    const why = `the strategy chose ${JSON.stringify(move) ?? "nothing"} of ${JSON.stringify(options)}`;
    say(`${call.match_id}: ${why}; another is played.`);
    return [options[randomInt(options.length)], { origin: "replaced", reason: why.slice(0, 200) }];
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
    say(`${over.match_id}: ${result}. ${reason ?? over.reason ?? ""}`);
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
      if (size <= MOST_BYTES) parts.push(part);
    });
    request.on("end", async () => {
      if (size > MOST_BYTES) return end(413, { error: `At most ${MOST_BYTES} bytes are taken.` });
      const answer = await agent.answer(Buffer.concat(parts).toString());
      end(answer === null ? 204 : 200, answer);
    });
  });
}

async function main() {
  const text = (value) => ({ type: "string", default: value });
  const { values } = parseArgs({
    options: {
      manager: text("http://127.0.0.1:8000/mcp"), host: text("127.0.0.1"), port: text("8101"), file: text("state.json"),
    },
  });
  const agent = new Agent(values.manager, values.file);
  const server = serve(agent, () => process.exit(0));
  // It listens before it registers, for the manager calls it at once.
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
