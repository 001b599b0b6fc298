// Player agent for the game even_odd, protocol league.v2 (JSON-RPC 2.0 over HTTP POST /mcp).
// Written from the five protocol documents alone; the choices made are listed in NOTES.md.
import http from 'node:http';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';

const HOST = '127.0.0.1', PROTOCOL = 'league.v2', GAME = 'even_odd';
const REGISTER_TIMEOUT_MS = 10_000, MAX_RETRIES = 3, RETRY_DELAY_MS = 2_000;
const REGISTRATION_GRACE_MS = 2_000; // a message may overtake our own registration response
const MAX_BODY = 1_000_000;

// ---------------------------------------------------------------- state (memory only)
const me = { player_id: null, auth_token: undefined, league_id: null };
const rounds = new Map();  // round_id -> { matches, completed }
const matches = new Map(); // match_id -> { round_id, opponent_id, role, token, choice, finished }
const history = new Map(); // match_id -> { opponent_id, result, outcome }
let standings = [], currentRound = null, finalStandings = null;
let registrationDone; // promise, settled when the manager has answered

const log = (text) => console.log(text);
const logError = (text) => console.error(`error: ${text}`);

function statistics() {
  const count = { wins: 0, losses: 0, draws: 0 };
  for (const { outcome } of history.values()) count[outcome]++;
  return { ...count, points: 3 * count.wins + count.draws };
}

// A drawn number is even or odd with equal chance, so only the opponent matters: equal choices
// always draw (1 point), different ones have a winner (1.5 points on average). Hence: pick the
// opposite of what this opponent chose most often, and toss a coin when nothing is known.
function chooseParity(opponent) {
  let lean = 0;
  for (const { opponent_id, result } of history.values()) {
    if (opponent_id !== opponent || !Object.hasOwn(result.choices, opponent)) continue;
    if (result.choices[opponent] === 'even') lean++;
    if (result.choices[opponent] === 'odd') lean--;
  }
  if (lean === 0) return Math.random() < 0.5 ? 'even' : 'odd';
  return lean > 0 ? 'odd' : 'even';
}

// ---------------------------------------------------------------- messages and errors
const now = () => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

const reply = (message_type, request, fields) => ({
  protocol: PROTOCOL, message_type, sender: `player:${me.player_id}`, timestamp: now(),
  conversation_id: request.conversation_id, auth_token: me.auth_token,
  player_id: me.player_id, ...fields,
});
const acknowledge = (message_type, request, fields) =>
  reply(message_type, request, { status: 'ACKNOWLEDGED', ...fields });

class RpcError extends Error {
  constructor(code, message, data) { super(message); this.code = code; this.data = data; }
}
const invalid = (error_code, error_name, detail) =>
  new RpcError(-32602, 'Invalid params', { error_code, error_name, error_description: detail });

// ---------------------------------------------------------------- validation
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isUtc = (v) => /^\d{4}(-?)\d\d\1\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/.test(v) &&
  !Number.isNaN(Date.parse(v.replace(/^(\d{4})(\d\d)(\d\d)T/, '$1-$2-$3T')));
const TYPES = {
  string: (v) => typeof v === 'string', time: (v) => typeof v === 'string',
  integer: Number.isInteger, object: isObject, array: Array.isArray,
};

// spec: { field: type }, where a list stands for a set of allowed values
function check(object, spec, where = '') {
  for (const [field, type] of Object.entries(spec)) {
    const value = Object.hasOwn(object, field) ? object[field] : undefined;
    if (value === undefined || value === null)
      throw invalid('E003', 'MISSING_REQUIRED_FIELD', `${where}${field} is missing`);
    if (!(Array.isArray(type) ? type.includes(value) : TYPES[type](value)))
      throw invalid('E003', 'INVALID_FIELD_TYPE', `${where}${field} must be ${[type].flat().join(' or ')}`);
    if (type === 'time' && !isUtc(value))
      throw invalid('E021', 'INVALID_TIMESTAMP', `${where}${field} must be ISO 8601 in UTC`);
  }
}
function checkEach(list, spec, where) {
  list.forEach((item, i) => {
    if (!isObject(item)) throw invalid('E003', 'INVALID_FIELD_TYPE', `${where}[${i}] must be object`);
    check(item, spec, `${where}[${i}].`);
  });
}

function checkEnvelope(p, type, fromReferee) {
  check(p, { protocol: 'string', message_type: 'string', sender: 'string', timestamp: 'time', conversation_id: 'string' });
  if (p.protocol !== PROTOCOL)
    throw invalid('E018', 'PROTOCOL_VERSION_MISMATCH', `protocol must be ${PROTOCOL}`);
  if (p.message_type !== type)
    throw invalid('E003', 'INVALID_FIELD_TYPE', `message_type must be ${type}`);
  if (!(fromReferee ? /^referee:.+/ : /^league_manager(:.+)?$/).test(p.sender))
    throw invalid('E003', 'INVALID_FIELD_TYPE', `sender must be ${fromReferee ? 'referee:<id>' : 'league_manager'}`);
}

// A player cannot look up a referee's token; it can tell a missing one, and one that is not the
// token of the invitation. The manager sends none; if one is there it can only be the player's.
function checkToken(p, fromReferee) {
  const missing = p.auth_token === undefined || p.auth_token === null || p.auth_token === '';
  if (fromReferee && missing) throw invalid('E011', 'AUTH_TOKEN_MISSING', 'auth_token is missing');
  if (missing) return;
  const expected = fromReferee ? matches.get(p.match_id)?.token ?? p.auth_token : me.auth_token;
  if (typeof p.auth_token !== 'string' || p.auth_token !== expected)
    throw new RpcError(fromReferee ? 4001 : 3001, 'Invalid auth token',
      { error_code: 'E012', error_name: 'AUTH_TOKEN_INVALID', player_id: me.player_id });
}

// ---------------------------------------------------------------- handlers, one for each message
const LEAGUE_ROUND = { league_id: 'string', round_id: 'integer' };

const handlers = {
  ROUND_ANNOUNCEMENT(p) {
    check(p, { ...LEAGUE_ROUND, matches: 'array' });
    checkEach(p.matches, { match_id: 'string', game_type: 'string', player_A_id: 'string',
      player_B_id: 'string', referee_endpoint: 'string' }, 'matches');
    rounds.set(p.round_id, { matches: p.matches, completed: false });
    currentRound = p.round_id;
    return acknowledge('ROUND_ANNOUNCEMENT_ACK', p, { round_id: p.round_id });
  },

  LEAGUE_STANDINGS_UPDATE(p) {
    check(p, { ...LEAGUE_ROUND, standings: 'array' });
    checkEach(p.standings, { rank: 'integer', player_id: 'string', display_name: 'string',
      played: 'integer', wins: 'integer', draws: 'integer', losses: 'integer', points: 'integer' }, 'standings');
    standings = p.standings;
    return acknowledge('STANDINGS_UPDATE_ACK', p, { round_id: p.round_id });
  },

  ROUND_COMPLETED(p) {
    check(p, { ...LEAGUE_ROUND });
    if (p.next_round_id !== null) check(p, { next_round_id: 'integer' });
    rounds.set(p.round_id, { matches: rounds.get(p.round_id)?.matches ?? [], completed: true });
    if (currentRound === p.round_id) currentRound = null;
    return acknowledge('ROUND_COMPLETED_ACK', p, { round_id: p.round_id });
  },

  LEAGUE_COMPLETED(p) {
    check(p, { league_id: 'string', total_rounds: 'integer', total_matches: 'integer',
      champion: 'object', final_standings: 'array' });
    check(p.champion, { player_id: 'string', display_name: 'string', points: 'integer' }, 'champion.');
    checkEach(p.final_standings, { rank: 'integer', player_id: 'string', points: 'integer' }, 'final_standings');
    finalStandings = p.final_standings;
    setTimeout(() => process.exit(0), 1000);
    return acknowledge('LEAGUE_COMPLETED_ACK', p);
  },

  GAME_INVITATION(p) {
    check(p, { ...LEAGUE_ROUND, match_id: 'string', game_type: 'string',
      role_in_match: ['PLAYER_A', 'PLAYER_B'], opponent_id: 'string' });
    const announced = rounds.get(p.round_id)?.matches;
    const isMine = (m) => m.match_id === p.match_id && [m.player_A_id, m.player_B_id].includes(me.player_id);
    if (announced?.length && !announced.some(isMine))
      throw new RpcError(4003, 'Match not found', { match_id: p.match_id, player_id: me.player_id });
    const accept = p.game_type === GAME;
    const running = matches.get(p.match_id);
    if (accept && (!running || running.finished)) // a repeated invitation changes nothing
      matches.set(p.match_id, { round_id: p.round_id, opponent_id: p.opponent_id, role: p.role_in_match,
        token: p.auth_token, choice: null, finished: false });
    return reply('GAME_JOIN_ACK', p, { match_id: p.match_id, arrival_timestamp: now(), accept });
  },

  CHOOSE_PARITY_CALL(p) {
    check(p, { match_id: 'string', player_id: 'string', game_type: [GAME], deadline: 'time' });
    if (p.context !== undefined && p.context !== null) check(p, { context: 'object' });
    if (p.player_id !== me.player_id)
      throw new RpcError(4002, 'Player not found', { error_code: 'E005',
        error_name: 'PLAYER_NOT_REGISTERED', player_id: me.player_id });
    const match = matches.get(p.match_id);
    if (!match)
      throw new RpcError(4005, 'Match state error', { error_code: 'E015',
        error_name: 'MATCH_ID_MISMATCH', error_description: 'no invitation to this match was accepted' });
    if (match.finished)
      throw new RpcError(4005, 'Match state error', { match_id: p.match_id, error_description: 'match is over' });
    match.choice ??= chooseParity(match.opponent_id); // a repeated call gets the same choice
    return reply('CHOOSE_PARITY_RESPONSE', p, { match_id: p.match_id, parity_choice: match.choice });
  },

  GAME_OVER(p) {
    check(p, { match_id: 'string', game_type: [GAME], game_result: 'object' });
    const result = p.game_result, where = 'game_result.';
    check(result, { status: ['WIN', 'DRAW', 'TECHNICAL_LOSS'], choices: 'object' }, where);
    if (result.status === 'WIN') check(result, { winner_player_id: 'string' }, where);
    if (result.status !== 'TECHNICAL_LOSS')
      check(result, { drawn_number: 'integer', number_parity: ['even', 'odd'] }, where);
    const match = matches.get(p.match_id);
    if (match) match.finished = true;
    const outcome = result.status === 'DRAW' ? 'draws'
      : result.winner_player_id === me.player_id ? 'wins' : 'losses';
    const opponent_id = match?.opponent_id ??
      Object.keys(result.choices).find((id) => id !== me.player_id) ?? null;
    const known = history.get(p.match_id);
    history.set(p.match_id, { opponent_id, result, outcome });
    if (JSON.stringify(known?.result) !== JSON.stringify(result)) { // not a repeated message
      const s = statistics();
      log(`match ${p.match_id} vs ${opponent_id}: ${result.status}, winner ${result.winner_player_id ?? 'none'}, ` +
        `number ${result.drawn_number ?? 'none'}; so far ${s.wins} won ${s.draws} drawn ${s.losses} lost, ${s.points} points`);
    }
    return acknowledge('GAME_OVER_ACK', p, { match_id: p.match_id });
  },

  GAME_ERROR(p) {
    check(p, { match_id: 'string', error_code: 'string', error_description: 'string' });
    logError(`GAME_ERROR ${p.error_code} ${p.error_description} in ${p.match_id}: ${p.consequence ?? ''}`);
    return acknowledge('GAME_ERROR_ACK', p, { match_id: p.match_id });
  },

  LEAGUE_ERROR(p) {
    check(p, { error_code: 'string', error_description: 'string' });
    logError(`LEAGUE_ERROR ${p.error_code} ${p.error_description}`);
    return acknowledge('LEAGUE_ERROR_ACK', p);
  },
};

const METHODS = new Map(Object.entries({
  notify_round: 'ROUND_ANNOUNCEMENT', update_standings: 'LEAGUE_STANDINGS_UPDATE',
  notify_round_completed: 'ROUND_COMPLETED', notify_league_completed: 'LEAGUE_COMPLETED',
  handle_game_invitation: 'GAME_INVITATION', parity_choose: 'CHOOSE_PARITY_CALL',
  notify_match_result: 'GAME_OVER', notify_game_error: 'GAME_ERROR',
}));
for (const type of Object.keys(handlers)) // the other documented form: method = message type
  METHODS.set(type, type).set(type.toLowerCase(), type);
const FROM_REFEREE = new Set(['GAME_INVITATION', 'CHOOSE_PARITY_CALL', 'GAME_OVER', 'GAME_ERROR']);
const NEEDS_ID = new Set(['GAME_INVITATION', 'CHOOSE_PARITY_CALL']); // a response is expected

// ---------------------------------------------------------------- server
async function dispatch({ method, params, id }) {
  const isLeagueError = isObject(params) && params.message_type === 'LEAGUE_ERROR'; // has no method name
  const type = isLeagueError ? 'LEAGUE_ERROR' : METHODS.get(method);
  if (!type) throw new RpcError(-32601, 'Method not found', { method });
  if (id === undefined && NEEDS_ID.has(type)) throw new RpcError(-32600, 'Invalid Request', { reason: 'id is missing' });
  if (!isObject(params)) throw invalid('E003', 'MISSING_REQUIRED_FIELD', 'params must be an object');
  const fromReferee = FROM_REFEREE.has(type);
  checkEnvelope(params, type, fromReferee);
  if (!me.player_id && !isLeagueError) await Promise.race([registrationDone, sleep(REGISTRATION_GRACE_MS)]);
  if (!me.player_id && !isLeagueError)
    throw new RpcError(...(fromReferee ? [4002, 'Player not found'] : [3002, 'Player not registered']),
      { error_code: 'E005', error_name: 'PLAYER_NOT_REGISTERED' });
  checkToken(params, fromReferee);
  return handlers[type](params);
}

// Returns the JSON-RPC response, or null when none is due (a notification without fault).
async function answer(body) {
  let id = null;
  try {
    let request;
    try { request = JSON.parse(body); } catch { throw new RpcError(-32700, 'Parse error'); }
    if (!isObject(request)) throw new RpcError(-32600, 'Invalid Request');
    if (['string', 'number'].includes(typeof request.id)) id = request.id;
    else if (request.id !== undefined) throw new RpcError(-32600, 'Invalid Request', { reason: 'id must be string or number' });
    if (request.jsonrpc !== '2.0' || typeof request.method !== 'string') throw new RpcError(-32600, 'Invalid Request');
    const result = await dispatch(request);
    return request.id === undefined ? null : { jsonrpc: '2.0', result, id };
  } catch (e) {
    const known = e instanceof RpcError;
    logError(known ? `answered ${e.code} ${e.message} ${JSON.stringify(e.data ?? {})}` : e?.stack ?? e);
    return { jsonrpc: '2.0', error: known ? { code: e.code, message: e.message, data: e.data }
      : { code: -32603, message: 'Internal error' }, id };
  }
}

function send(res, status, message) {
  if (res.writableEnded || res.destroyed) return;
  res.writeHead(status, { 'Content-Type': 'application/json' });
  res.end(message ? JSON.stringify(message) : undefined);
}

const fault = (reason) => ({ jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data: { reason } }, id: null });

const server = http.createServer((req, res) => {
  const chunks = [];
  let size = 0;
  req.on('error', (e) => logError(e.message));
  res.on('error', (e) => logError(e.message));
  if (req.url.split('?')[0] !== '/mcp') return send(res, 404, fault('the endpoint is /mcp'));
  if (req.method !== 'POST') return send(res, 405, fault('use POST'));
  req.on('data', (chunk) => {
    size += chunk.length;
    if (size <= MAX_BODY) chunks.push(chunk);
    else send(res, 413, fault('message too large'));
  });
  req.on('end', async () => {
    if (size > MAX_BODY) return;
    const message = await answer(Buffer.concat(chunks).toString('utf8'));
    send(res, message ? 200 : 204, message);
  });
});

// ---------------------------------------------------------------- registration
async function register(manager, name, port) {
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'agent';
  for (let attempt = 0; ; attempt++) {
    const request = {
      jsonrpc: '2.0', method: 'register_player', id: attempt + 1,
      params: {
        protocol: PROTOCOL, message_type: 'LEAGUE_REGISTER_REQUEST', sender: `player:${slug}`,
        timestamp: now(), conversation_id: `conv-player-${slug}-reg-${String(attempt + 1).padStart(3, '0')}`,
        player_meta: { display_name: name, version: '1.0.0', protocol_version: '2.1.0', game_types: [GAME],
          contact_endpoint: `http://${HOST}:${port}/mcp` },
      },
    };
    let response;
    try { // only timeouts (E001) and connection failures (E009) are tried again
      const answered = await fetch(manager, { method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(request), signal: AbortSignal.timeout(REGISTER_TIMEOUT_MS) });
      response = await answered.json();
    } catch (e) {
      logError(`registration attempt ${attempt + 1}: ${e.cause?.message || e.message}`);
      if (attempt === MAX_RETRIES) throw new Error('registration failed, no more retries');
      await sleep(RETRY_DELAY_MS);
      continue;
    }
    const { result, error } = response ?? {};
    if (error || !isObject(result)) throw new Error(`registration refused: ${JSON.stringify(error ?? response)}`);
    if (result.status !== 'ACCEPTED' || typeof result.player_id !== 'string')
      throw new Error(`registration refused: ${result.reason ?? JSON.stringify(result)}`);
    if (typeof result.auth_token !== 'string') logError('the manager gave no auth_token');
    else me.auth_token = result.auth_token;
    me.league_id = result.league_id ?? null;
    me.player_id = result.player_id;
    return;
  }
}

// ---------------------------------------------------------------- start
process.on('uncaughtException', (e) => logError(e?.stack ?? e));
process.on('unhandledRejection', (e) => logError(e?.stack ?? e));
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const fail = (text) => { logError(text); process.exit(1); };
let options;
try {
  options = parseArgs({ options: {
    manager: { type: 'string', default: 'http://127.0.0.1:8000/mcp' },
    port: { type: 'string', default: '8101' },
    name: { type: 'string', default: 'Agent Alpha' },
  } }).values;
} catch (e) { fail(e.message); }
if (!/^\d{1,5}$/.test(options.port) || Number(options.port) > 65535) fail('--port must be 0 to 65535');

server.on('error', (e) => fail(e.message));
server.listen(Number(options.port), HOST, () => {
  const { port } = server.address();
  log(`listening on ${port}`);
  registrationDone = register(options.manager, options.name, port).then(
    () => log(`registered as ${me.player_id}`), (e) => fail(e.message));
});
