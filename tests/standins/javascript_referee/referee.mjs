// Referee agent for the league.v2 protocol (game: even_odd). Node 20+, built-in modules only.
// Usage: node referee.mjs --manager http://127.0.0.1:8000/mcp --port 8001 --name "Referee Alpha"
import http from 'node:http';
import https from 'node:https';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

const PROTOCOL = 'league.v2';
const GAME = 'even_odd';
const HOST = '127.0.0.1';
const MAX_CONCURRENT = 2;
const MAX_BODY = 1_000_000;
const MAX_RETRIES = 3;
const SECOND = 1000;
const RETRY_DELAY = 2 * SECOND;
const TIMEOUT = { join: 5 * SECOND, choice: 30 * SECOND, gameOver: 5 * SECOND, other: 10 * SECOND };
const ERRORS = {
  E001: 'TIMEOUT_ERROR', E003: 'MISSING_REQUIRED_FIELD', E004: 'INVALID_PARITY_CHOICE', E005: 'PLAYER_NOT_REGISTERED',
  E009: 'CONNECTION_ERROR', E012: 'AUTH_TOKEN_INVALID', E015: 'MATCH_ID_MISMATCH', E018: 'PROTOCOL_VERSION_MISMATCH',
  E021: 'INVALID_TIMESTAMP',
};

// ---------------------------------------------------------------- small helpers
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const iso = (ms = Date.now()) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isText = (v) => typeof v === 'string' && v.length > 0;
const isId = (v) => typeof v === 'string' && /^[\w.:-]{1,64}$/.test(v);
// The optional dashes allow the "20250115T10:30:00Z" spelling found in the message catalogue.
const isUtc = (v) => typeof v === 'string' && /^\d{4}-?\d\d-?\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/.test(v);
const isUrl = (v) => isText(v) && URL.canParse(v) && /^https?:$/.test(new URL(v).protocol);
const oneLine = (v) => String(v).replace(/\s+/g, ' ').slice(0, 300);
const logError = (what, err) => console.error(oneLine(`error: ${what}: ${err?.message ?? err}`));
const sameEndpoint = (a, b) => {
  const normal = (u) => new URL(u).href.replace('//localhost', '//127.0.0.1').replace(/\/+$/, '');
  return isUrl(a) && isUrl(b) && normal(a) === normal(b);
};

// ---------------------------------------------------------------- state of this referee
const me = { name: '', slug: '', endpoint: '', manager: '', id: null, token: null };
const known = new Set(); // matches already taken, so that a repeated announcement is harmless
const waiting = []; // matches waiting for a free slot
let running = 0;
let standings = new Map(); // player_id -> last known standings row
let leaving = false;
let markRegistered;
const registered = new Promise((resolve) => { markRegistered = resolve; });

function message(type, conversationId, fields) {
  const envelope = {
    protocol: PROTOCOL, message_type: type, sender: `referee:${me.id ?? me.slug}`, timestamp: iso(), conversation_id: conversationId,
  };
  if (me.token) envelope.auth_token = me.token;
  return { ...envelope, ...fields };
}

// ---------------------------------------------------------------- JSON-RPC client
// Rejects with an Error whose `kind` is TIMEOUT, CONNECTION, RPC (error reply) or MALFORMED.
let nextId = 1;
const failure = (kind, text, extra = {}) => Object.assign(new Error(text), { kind, ...extra });

function post(url, text, timeout) {
  return new Promise((resolve, reject) => {
    const target = new URL(url);
    const client = target.protocol === 'https:' ? https : http;
    const request = client.request(target, {
      method: 'POST', agent: false,
      headers: { 'content-type': 'application/json', accept: 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    const settle = (action, value) => { clearTimeout(timer); action(value); request.destroy(); };
    const timer = setTimeout(() => settle(reject, failure('TIMEOUT', `no answer within ${timeout} ms`)), timeout);
    request.on('error', (err) => settle(reject, failure('CONNECTION', err.message || err.code)));
    request.on('response', (response) => {
      const chunks = [];
      let size = 0;
      response.on('data', (chunk) => {
        size += chunk.length;
        if (size > MAX_BODY) settle(reject, failure('MALFORMED', 'answer is too large'));
        else chunks.push(chunk);
      });
      response.on('error', (err) => settle(reject, failure('CONNECTION', err.message)));
      response.on('end', () => settle(resolve, { status: response.statusCode, body: Buffer.concat(chunks).toString('utf8') }));
    });
    request.end(text);
  });
}

async function call(url, method, params, timeout) {
  const id = nextId++;
  const { status, body } = await post(url, JSON.stringify({ jsonrpc: '2.0', method, params, id }), Math.max(1, timeout));
  let reply;
  try { reply = JSON.parse(body); } catch {
    throw failure(status >= 500 ? 'CONNECTION' : 'MALFORMED', `HTTP ${status}, the answer is not JSON`);
  }
  if (isObject(reply?.error)) throw failure('RPC', `${reply.error.code} ${reply.error.message}`, { rpc: reply.error });
  if (reply?.jsonrpc !== '2.0' || reply.id !== id || !isObject(reply.result)) {
    throw failure('MALFORMED', `HTTP ${status}, the answer is not a JSON-RPC 2.0 result for request ${id}`);
  }
  return reply.result;
}

// To the manager: timeouts and connection failures are retried, error replies are not.
async function callManager(method, build) {
  for (let retry = 0; ; retry++) {
    try {
      return await call(me.manager, method, build(), TIMEOUT.other);
    } catch (err) {
      if (retry >= MAX_RETRIES || !['TIMEOUT', 'CONNECTION'].includes(err.kind)) throw Object.assign(err, { retry });
      logError(`${method} (retry ${retry + 1} of ${MAX_RETRIES} follows)`, err);
      await sleep(RETRY_DELAY);
    }
  }
}

// ---------------------------------------------------------------- asking a player
// Common checks of a player's answer; returns null or [error code, detail, extra context].
function checkAnswer(answer, type, match, player) {
  if (answer.protocol !== undefined && answer.protocol !== PROTOCOL) return ['E018', 'protocol must be "league.v2"'];
  if (answer.message_type !== type) return ['E003', `message_type must be ${type}`];
  if (answer.timestamp !== undefined && !isUtc(answer.timestamp)) return ['E021', 'timestamp must be ISO 8601 in UTC'];
  if (answer.match_id !== match.id) return ['E015', `match_id must be ${match.id}`];
  if (answer.player_id !== player.id) return ['E005', `player_id must be ${player.id}`];
  return null;
}

async function sendGameError(match, player, fields) {
  const params = message('GAME_ERROR', match.conversation, {
    league_id: match.leagueId, round_id: match.round, match_id: match.id,
    player_id: player.id, affected_player: player.id, game_state: match.state, ...fields,
  });
  try { await call(player.endpoint, 'notify_game_error', params, TIMEOUT.other); } catch (err) {
    logError(`${match.id}: GAME_ERROR to ${player.id}`, err);
  }
}

// Sends a request until there is a valid answer. Timeout and connection failure: up to 3 retries, 2 seconds apart, each
// with a new window. Invalid answer: GAME_ERROR, then the question again within what remains of the same window.
// Returns the answer, or null with player.fault set.
async function ask(match, player, { method, expected, timeout, build, check }) {
  let windowEnd = Date.now() + timeout;
  let windowFixed = false;
  for (let retry = 0; ; retry++) {
    let code, detail, extra;
    try {
      const answer = await call(player.endpoint, method, build(windowEnd), windowEnd - Date.now());
      const problem = checkAnswer(answer, expected, match, player) ?? check(answer);
      if (!problem) return answer;
      [code, detail, extra] = problem;
    } catch (err) {
      code = { TIMEOUT: 'E001', CONNECTION: 'E009' }[err.kind] ?? 'E003';
      detail = err.message;
    }
    const automatic = code === 'E001' || code === 'E009';
    if (!automatic) windowFixed = true;
    const delay = automatic ? RETRY_DELAY : 0;
    const remaining = windowEnd - Date.now() - delay;
    const last = retry >= MAX_RETRIES || (windowFixed && remaining <= 0);
    logError(`${match.id}: ${expected} of ${player.id}: ${code} ${ERRORS[code]}`, detail);

    const info = { retry_count: Math.min(retry + 1, MAX_RETRIES), max_retries: MAX_RETRIES };
    const retryInfo = { ...info };
    if (!last && automatic) retryInfo.next_retry_at = iso(Date.now() + delay);
    if (windowFixed) retryInfo.time_remaining = Math.max(0, Math.round(remaining / 100) / 10);
    const context = { detail: oneLine(detail), ...extra };
    const sent = sendGameError(match, player, {
      error_code: code, error_name: ERRORS[code], error_description: ERRORS[code], action_required: expected,
      retryable: !last, ...info, retry_info: retryInfo, context,
      consequence: last ? 'Technical loss' : windowFixed ? 'Technical loss if no valid answer is received before timeout'
        : 'Technical loss if max retries exceeded',
    });
    if (last) {
      player.fault = automatic ? 'failed to respond within timeout' : `gave no valid ${expected}`;
      if (code === 'E009') player.fault = 'could not be reached';
      return null;
    }
    if (automatic) await sleep(delay);
    else await Promise.race([sent, sleep(RETRY_DELAY)]); // let the error arrive before the question is repeated
    if (!windowFixed) windowEnd = Date.now() + timeout;
  }
}

const invite = (match, player, opponent) => ask(match, player, {
  method: 'handle_game_invitation', expected: 'GAME_JOIN_ACK', timeout: TIMEOUT.join,
  build: () => message('GAME_INVITATION', match.conversation, {
    league_id: match.leagueId, round_id: match.round, match_id: match.id, game_type: GAME,
    role_in_match: player.role, opponent_id: opponent.id,
  }),
  check: (answer) => (typeof answer.accept === 'boolean' ? null : ['E003', 'accept must be true or false']),
});

const askChoice = (match, player, opponent) => ask(match, player, {
  method: 'parity_choose', expected: 'CHOOSE_PARITY_RESPONSE', timeout: TIMEOUT.choice,
  build: (deadline) => message('CHOOSE_PARITY_CALL', match.conversation, {
    league_id: match.leagueId, round_id: match.round, match_id: match.id, player_id: player.id, game_type: GAME,
    context: { opponent_id: opponent.id, round_id: match.round, your_standings: record(player.id) },
    deadline: iso(deadline),
  }),
  check: (answer) => (answer.parity_choice === 'even' || answer.parity_choice === 'odd' ? null
    : ['E004', 'parity_choice must be "even" or "odd"',
      { invalid_choice: typeof answer.parity_choice === 'object' ? null : answer.parity_choice, valid_choices: ['even', 'odd'] }]),
});

// ---------------------------------------------------------------- standings (for your_standings)
function record(playerId) {
  const row = standings.get(playerId) ?? {};
  return Object.fromEntries(['wins', 'losses', 'draws', 'points'].map((k) => [k, Number.isInteger(row[k]) ? row[k] : 0]));
}

function storeStandings(rows) {
  if (Array.isArray(rows)) standings = new Map(rows.filter(isObject).map((row) => [row.player_id, row]));
}

async function refreshStandings(match) {
  try {
    const answer = await call(me.manager, 'league_query', message('LEAGUE_QUERY', `conv-${match.id.toLowerCase()}-query`, {
      league_id: match.leagueId, query_type: 'GET_STANDINGS', query_params: {},
    }), TIMEOUT.other);
    storeStandings(answer.standings ?? answer.data?.standings);
  } catch (err) { logError(`${match.id}: standings not available`, err); }
}

// ---------------------------------------------------------------- one match
function judge(match, draw = () => randomInt(1, 11)) {
  const [a, b] = match.players;
  const result = {
    status: 'TECHNICAL_LOSS', winner_player_id: null, drawn_number: null, number_parity: null,
    choices: { [a.id]: a.choice, [b.id]: b.choice }, reason: '',
  };
  const score = { [a.id]: 0, [b.id]: 0 };
  const award = (winner) => { result.winner_player_id = winner.id; score[winner.id] = 3; };
  if (a.fault && b.fault) {
    result.reason = `${a.id} ${a.fault}, ${b.id} ${b.fault} - no winner`;
  } else if (a.fault || b.fault) {
    const [winner, loser] = a.fault ? [b, a] : [a, b];
    award(winner);
    result.reason = `${loser.id} ${loser.fault} - ${winner.id} wins by default`;
  } else {
    match.state = 'DRAWING_NUMBER';
    const number = draw();
    const parity = number % 2 === 0 ? 'even' : 'odd';
    Object.assign(result, { drawn_number: number, number_parity: parity });
    if (a.choice === b.choice) {
      result.status = 'DRAW';
      score[a.id] = score[b.id] = 1;
      result.reason = `Both chose ${a.choice}, number was ${number} (${parity}) - both ${a.choice === parity ? 'correct' : 'incorrect'}`;
    } else {
      const winner = a.choice === parity ? a : b;
      result.status = 'WIN';
      award(winner);
      result.reason = `${winner.id} chose ${parity}, number was ${number} (${parity})`;
    }
  }
  return { result, score };
}

async function playMatch(match) {
  await registered;
  const [a, b] = match.players;
  match.state = 'WAITING_FOR_PLAYERS';
  const [joinA, joinB] = await Promise.all([invite(match, a, b), invite(match, b, a), refreshStandings(match)]);
  if (joinA?.accept === false) a.fault = 'rejected the invitation';
  if (joinB?.accept === false) b.fault = 'rejected the invitation';
  if (!a.fault && !b.fault) {
    match.state = 'COLLECTING_CHOICES';
    const [choiceA, choiceB] = await Promise.all([askChoice(match, a, b), askChoice(match, b, a)]);
    a.choice = choiceA?.parity_choice ?? null;
    b.choice = choiceB?.parity_choice ?? null;
  }
  const { result, score } = judge(match);
  match.state = 'FINISHED';
  console.log(`match ${match.id}: ${result.status}, winner ${result.winner_player_id ?? 'none'}: ${oneLine(result.reason)}`);

  const over = message('GAME_OVER', match.conversation, {
    league_id: match.leagueId, round_id: match.round, match_id: match.id, game_type: GAME, game_result: result, reason: result.reason,
  });
  await Promise.all(match.players.map((player) => call(player.endpoint, 'notify_match_result', over, TIMEOUT.gameOver)
    .catch((err) => logError(`${match.id}: GAME_OVER to ${player.id}`, err))));

  try {
    await callManager('report_match_result', () => message('MATCH_RESULT_REPORT', `conv-${match.id.toLowerCase()}-report`, {
      league_id: match.leagueId, round_id: match.round, match_id: match.id, game_type: GAME,
      result: {
        winner: result.winner_player_id, score,
        details: { drawn_number: result.drawn_number, choices: result.choices, status: result.status },
      },
    }));
  } catch (err) {
    // A duplicate after a retry means that the earlier report did arrive.
    if (!(err.rpc?.code === 5003 && err.retry > 0)) logError(`${match.id}: MATCH_RESULT_REPORT`, err);
  }
}

function startWaiting() {
  while (running < MAX_CONCURRENT && waiting.length > 0) {
    const match = waiting.shift();
    running++;
    playMatch(match).catch((err) => logError(`${match.id}: match failed`, err)).finally(() => { running--; startWaiting(); });
  }
}

// ---------------------------------------------------------------- messages from the manager
const rpcError = (code, text, data) => Object.assign(new Error(text), { rpcCode: code, data });
const invalid = (errorCode, detail) => rpcError(-32602, 'Invalid params', {
  error_code: errorCode, error_name: ERRORS[errorCode], error_description: detail,
});
const need = (condition, detail) => { if (!condition) throw invalid('E003', detail); };

function onRound(p) {
  need(isText(p.league_id), 'league_id must be a string');
  need(Number.isInteger(p.round_id), 'round_id must be an integer');
  need(Array.isArray(p.matches) && p.matches.every(isObject), 'matches must be an array of objects');
  const mine = p.matches.filter((m) => sameEndpoint(m.referee_endpoint, me.endpoint) || (me.id && m.referee_id === me.id));
  const taken = mine.map((m) => {
    need(isId(m.match_id), 'match_id must be an identifier');
    need(m.game_type === GAME, `${m.match_id}: game_type must be "${GAME}"`);
    need(isId(m.player_A_id) && isId(m.player_B_id), `${m.match_id}: player_A_id and player_B_id must be identifiers`);
    need(m.player_A_id !== m.player_B_id, `${m.match_id}: a player cannot play against itself`);
    need(isUrl(m.player_A_endpoint) && isUrl(m.player_B_endpoint), `${m.match_id}: player endpoints must be http URLs`);
    const player = (id, endpoint, role) => ({ id, endpoint, role, choice: null, fault: null });
    return {
      id: m.match_id, leagueId: p.league_id, round: p.round_id, conversation: `conv-${m.match_id.toLowerCase()}-001`, state: 'ASSIGNED',
      players: [player(m.player_A_id, m.player_A_endpoint, 'PLAYER_A'), player(m.player_B_id, m.player_B_endpoint, 'PLAYER_B')],
    };
  });
  for (const match of taken) { // only after every match has been checked
    const key = JSON.stringify([match.leagueId, match.round, match.id]);
    if (!known.has(key)) waiting.push(match);
    known.add(key);
  }
  setImmediate(startWaiting); // the acknowledgment goes out first
}

function onLeagueCompleted() {
  if (leaving) return;
  leaving = true;
  setTimeout(() => process.exit(0), SECOND);
}

const HANDLERS = { // message_type -> method name, acknowledgment type, action
  ROUND_ANNOUNCEMENT: ['notify_round', 'ROUND_ANNOUNCEMENT_ACK', onRound],
  LEAGUE_STANDINGS_UPDATE: ['update_standings', 'STANDINGS_UPDATE_ACK', (p) => {
    need(Array.isArray(p.standings), 'standings must be an array');
    storeStandings(p.standings);
  }],
  ROUND_COMPLETED: ['notify_round_completed', 'ROUND_COMPLETED_ACK', () => {}],
  LEAGUE_COMPLETED: ['notify_league_completed', 'LEAGUE_COMPLETED_ACK', onLeagueCompleted],
  LEAGUE_ERROR: ['notify_league_error', 'LEAGUE_ERROR_ACK', (p) => logError('LEAGUE_ERROR', `${p.error_code} ${p.error_description}`)],
};
const METHODS = new Map(Object.entries(HANDLERS).flatMap(([type, [method]]) => [[method, type], [type, type], [type.toLowerCase(), type]]));

function handle(method, p) {
  const type = METHODS.get(method);
  if (!type) throw rpcError(-32601, 'Method not found', { method: oneLine(method) });
  need(isObject(p), 'params must be an object');
  for (const field of ['protocol', 'message_type', 'sender', 'timestamp', 'conversation_id']) need(isText(p[field]), `${field} must be a string`);
  if (p.protocol !== PROTOCOL) throw invalid('E018', `protocol must be "${PROTOCOL}"`);
  if (!isUtc(p.timestamp)) throw invalid('E021', 'timestamp must be ISO 8601 in UTC');
  need(p.message_type === type, `message_type must be ${type} for method ${method}`);
  if (!/^league_manager(:|$)/.test(p.sender)) {
    throw rpcError(3001, 'Invalid auth token', { error_code: 'E012', error_name: ERRORS.E012, error_description: 'only the league manager may send this' });
  }
  const [, ackType, action] = HANDLERS[type];
  action(p);
  const ack = {
    protocol: PROTOCOL, message_type: ackType, sender: `referee:${me.id ?? me.slug}`, timestamp: iso(),
    conversation_id: p.conversation_id, status: 'ACKNOWLEDGED', referee_id: me.id,
  };
  if (Number.isInteger(p.round_id)) ack.round_id = p.round_id;
  return ack;
}

// ---------------------------------------------------------------- JSON-RPC server
// Returns the reply object, or null for a notification.
function answerText(text) {
  let request;
  let id = null;
  try {
    try { request = JSON.parse(text); } catch { throw rpcError(-32700, 'Parse error'); }
    if (!isObject(request)) throw rpcError(-32600, 'Invalid Request');
    const hasId = request.id !== undefined && request.id !== null;
    if (hasId && !['string', 'number'].includes(typeof request.id)) throw rpcError(-32600, 'Invalid Request');
    if (hasId) id = request.id;
    if (request.jsonrpc !== '2.0' || !isText(request.method)) throw rpcError(-32600, 'Invalid Request');
    const result = handle(request.method, request.params);
    return request.id === undefined ? null : { jsonrpc: '2.0', result, id };
  } catch (err) {
    logError('incoming message', `${err.message} ${err.data?.error_description ?? ''}`);
    const error = { code: err.rpcCode ?? -32603, message: err.rpcCode ? err.message : 'Internal error' };
    if (err.data) error.data = err.data;
    return { jsonrpc: '2.0', error, id };
  }
}

const server = http.createServer((request, response) => {
  const reply = (status, body) => {
    if (response.headersSent) return;
    response.writeHead(body ? status : 204, body ? { 'content-type': 'application/json' } : {});
    response.end(body ? JSON.stringify(body) : undefined);
  };
  const refuse = (status, text) => reply(status, { jsonrpc: '2.0', error: { code: -32600, message: text }, id: null });
  const chunks = [];
  let size = 0;
  request.on('error', (err) => logError('incoming request', err));
  response.on('error', (err) => logError('outgoing reply', err));
  request.on('data', (chunk) => {
    size += chunk.length;
    if (size <= MAX_BODY) chunks.push(chunk);
    else { response.setHeader('connection', 'close'); refuse(413, 'Message too large'); request.pause(); setTimeout(() => request.destroy(), SECOND); }
  });
  request.on('end', () => {
    if (request.url.split('?')[0].replace(/\/+$/, '') !== '/mcp') return refuse(404, 'Not found: use POST /mcp');
    if (request.method !== 'POST') return refuse(405, 'Use POST');
    reply(200, answerText(Buffer.concat(chunks).toString('utf8')));
  });
});

// ---------------------------------------------------------------- start
async function register() {
  const conversation = `conv-ref-${me.slug}-reg-001`;
  const answer = await callManager('register_referee', () => message('REFEREE_REGISTER_REQUEST', conversation, {
    referee_meta: {
      display_name: me.name, version: '1.0.0', protocol_version: '2.1.0', game_types: [GAME],
      contact_endpoint: me.endpoint, max_concurrent_matches: MAX_CONCURRENT,
    },
  }));
  if (answer.status !== 'ACCEPTED') throw new Error(`refused: ${answer.reason ?? 'no reason given'}`);
  if (!isId(answer.referee_id)) throw new Error('accepted without a referee_id');
  if (!isText(answer.auth_token)) logError('registration', 'accepted without an auth_token');
  Object.assign(me, { id: answer.referee_id, token: isText(answer.auth_token) ? answer.auth_token : null });
  markRegistered();
}

process.on('uncaughtException', (err) => logError('unexpected', err));
process.on('unhandledRejection', (err) => logError('unexpected', err));

function readArguments() {
  try {
    const { values } = parseArgs({ options: {
      manager: { type: 'string', default: 'http://127.0.0.1:8000/mcp' },
      port: { type: 'string', default: '8001' },
      name: { type: 'string', default: 'Referee Alpha' },
    } });
    if (!isUrl(values.manager)) throw new Error('--manager must be an http URL');
    if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65535) throw new Error('--port must be 0-65535');
    return values;
  } catch (err) {
    logError('arguments', err);
    process.exit(2);
  }
}

const options = readArguments();
me.manager = options.manager;
me.name = options.name.slice(0, 50) || 'Referee';
me.slug = me.name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').replace(/^referee-/, '') || 'referee';

server.on('error', (err) => { logError('server', err); if (!server.listening) process.exit(1); });
server.listen(Number(options.port), HOST, async () => {
  const { port } = server.address();
  me.endpoint = `http://${HOST}:${port}/mcp`;
  console.log(`listening on ${port}`);
  try { await register(); } catch (err) {
    logError('registration', err);
    process.exit(1);
  }
});
