// Tests of the strategy and the agent, without a network. Run them with `node --test`.
// They pass with every strategy that plays by the rules.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Agent, choose } from "./agent.mjs";

// A question of each game: the legal moves, and the position.
const QUESTIONS = {
  even_odd: [["even", "odd"], {}],
  rock_paper_scissors: [["rock", "paper", "scissors"], { choices: { A: null, B: null } }],
  tic_tac_toe: [[1, 2, 3, 5, 6, 7, 8], { board: "X...O....", moves: [0, 4], your_mark: "X" }],
  connect_four: [[1, 2, 3, 4, 5, 6, 7], { board: [...Array(5).fill("......."), "...R..."], your_disc: "Y" }],
  prisoners_dilemma: [["C", "D"], { turns: 50, played: 2, you: "CC", opponent: "CD" }],
};

const folder = mkdtempSync(join(tmpdir(), "agent-"));
after(() => rmSync(folder, { recursive: true }));

function settled() {
  const agent = new Agent("http://127.0.0.1:8000/mcp", join(folder, "state.json"));
  Object.assign(agent.me, { player_id: "P01", league_id: "spring_cup" });
  agent.settle(true);
  return agent;
}

function call(agent, method, kind, fields = {}) {
  const envelope = { protocol: "league.v2", message_type: kind, sender: "referee:REF01", match_id: "R1M1" };
  const times = { timestamp: "2026-03-14T09:01:00Z", conversation_id: "conv-r1m1-001" };
  return agent.answer(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { ...envelope, ...times, ...fields } }));
}

test("it makes a legal move in every game", async () => {
  for (const [game_type, [options, view]] of Object.entries(QUESTIONS)) {
    const before = { game_type, opponent_id: "P02", status: "WIN", result: "WIN", drawn_number: null };
    const match = { ...before, choice: String(options[0]), opponent_choice: String(options[1]) };
    for (const history of [[], [match]]) {
      const move = await choose(game_type, [...options], view, history, "P02");
      assert(options.includes(move), `${game_type}: choose returned ${JSON.stringify(move)}, none of ${options}`);
    }
  }
});

test("a choice is made in time and legal", async () => {
  const fields = { player_id: "P01", game_type: "even_odd", deadline: "2026-03-14T09:01:30Z" };
  const { result } = await call(settled(), "parity_choose", "CHOOSE_PARITY_CALL", fields);
  assert.equal(result.message_type, "CHOOSE_PARITY_RESPONSE");
  assert(["even", "odd"].includes(result.parity_choice));
  assert.deepEqual(result.move_info, { origin: "own" });
});

test("what is wrong is refused as JSON-RPC says", async () => {
  const agent = settled();
  assert.equal((await call(agent, "make_coffee", "COFFEE")).error.code, -32601);
  assert.equal((await call(agent, "parity_choose", "CHOOSE_PARITY_CALL")).error.code, -32602);
  assert.equal((await agent.answer("{")).error.code, -32700);
});
