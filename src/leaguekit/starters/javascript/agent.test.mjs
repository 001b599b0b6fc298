// Tests of the strategy and the agent, without a network. Run it with `node --test`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Agent, choose } from "./agent.mjs";

const OPTIONS = {
  even_odd: ["even", "odd"],
  rock_paper_scissors: ["rock", "paper", "scissors"],
  tic_tac_toe: [0, 2, 4, 8],
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

test("it takes the centre first", () => assert.equal(choose("tic_tac_toe", [0, 4, 8], {}, []), 4));

test("it makes a legal move in every game", () => {
  for (const [game, options] of Object.entries(OPTIONS)) assert(options.includes(choose(game, options, {}, [])));
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
