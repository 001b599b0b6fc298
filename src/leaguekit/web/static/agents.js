// All agents, and one of them: its record, its answer times, what went wrong, and what its author needs to fix.

import { timesChart, widthOf } from "./charts.js";
import { soon, withMatches } from "./cards.js";
import { h, matchLink, name, show, table, agentLabel } from "./elements.js";
import { follow, followed } from "./reader.js";
import { matchTable } from "./rounds.js";
import { agentState, answerTimes, moment, movement, origins, payoffText, plural } from "./words.js";

const MAX_ROWS = 100;

export const title = ({ agent, agents }) => (agents ? "Agents" : agent.name);

// #/agents lists them, #/agents/from/100 from the 101st on; #/agents/P01 is one.
export function load(what, get) {
  const [kind, from] = what.split("/");
  if (kind === "from" || kind === "") return get("api/agents", { offset: Number.parseInt(from, 10) || 0 });
  return get(`api/agents/${encodeURIComponent(what)}`);
}

export const render = (main, data, live) => (data.agents ? list(main, data, live) : one(main, data, live));

// Agents that do not answer now are shown at once.
export const watched = (live) => live.league.waits_for.join();

function list(main, data, live) {
  const { agents, moves, offset, total } = data;
  const isAbsent = (agent) => agent.out || agent.state === "SUSPENDED";
  const waits = live?.league.waits_for ?? [];
  show(
    main,
    h("h1", { tabindex: "-1" }, "Agents"),
    waits.length > 0 && h("p.notice", "The league waits for ", waits.map((what, place) => [place > 0 && "; ", withMatches(what, live)])),
    problems(data),
    refused(data),
    data.problems.length + data.refused.length > 0 && h("h2", "All agents"),
    agents.length === 0
      ? h("p.soft", "Nobody has registered yet.")
      : table(
          `Agents ${offset + 1} to ${offset + agents.length} of ${total}`,
          [["Agent", "who"], ["Role", ""], ["State", ""], ["Now in", ""], ["Moves, as it states", "less"]],
          agents.map((agent) => ({
            key: agent.id,
            kind: isAbsent(agent) ? "absent" : null,
            cells: [
              agentLabel(agent),
              agent.role,
              agentState(agent),
              agent.playing.map((match) => [matchLink(match), " "]),
              moves[agent.id] ? origins(moves[agent.id]) : "",
            ],
          })),
          { kind: "full" },
        ),
    h(
      "p",
      offset > 0 && h("a", { href: `#/agents/from/${Math.max(0, offset - MAX_ROWS)}` }, "Those before"),
      " ",
      offset + agents.length < total && h("a", { href: `#/agents/from/${offset + MAX_ROWS}` }, "Those after"),
    ),
  );
}

function problems({ problems: found }) {
  return (
    found.length > 0 &&
    h(
      "section",
      { "aria-labelledby": "problems" },
      h("h2", { id: "problems" }, "Agents with problems", h("span.count", found.length)),
      table(
        "Agents with problems, the worst first; those that have left come last",
        [["Agent", "who"], ["State", "less"], ["What went wrong", "why"], ["No answer since", ""]],
        found.map((agent) => ({
          key: agent.id,
          kind: agent.out ? "absent" : null,
          cells: [
            agentLabel(agent),
            agentState(agent),
            agent.sentences.join(", "),
            agent.unreachable_since ? moment(agent.unreachable_since) : "",
          ],
        })),
        { kind: "full", hidden: true },
      ),
    )
  );
}

function refused({ refused: found }) {
  return (
    found.length > 0 &&
    h(
      "section",
      { "aria-labelledby": "refused" },
      h("h2", { id: "refused" }, "Refused registrations", h("span.count", found.length)),
      table(
        "Refused registrations, the latest first",
        [["Name", "who"], ["Role", ""], ["Why", "why"], ["At", ""]],
        found.map((one, place) => ({
          key: `${one.role}-${place}`,
          cells: [name(one.name), one.role, [one.code, " ", h("span", { dir: "auto" }, one.reason)], moment(one.at)],
        })),
        { kind: "full", hidden: true, scrolls: true },
      ),
    )
  );
}

function one(main, data, live) {
  const { agent, version, registered_at: since, out_reason: reason } = data;
  const fixes = agent.role === "player" ? toFix(data) : data.to_fix.map((advice) => h("p.notice", advice));
  show(
    main,
    h("h1", { tabindex: "-1" }, name(agent.name), " ", h("span.id", agent.id)),
    data.record && live && following(agent, live.league),
    h(
      "p.soft",
      `${agent.role === "player" ? "Player" : "Referee"}, ${agentState(agent)}`,
      reason && [": ", h("span", { dir: "auto" }, reason)],
      version && [", version ", h("bdi", version)],
      ", last registered at ",
      moment(since),
      agent.playing.length > 0 && [", now in ", agent.playing.map((match) => [matchLink(match), " "])],
    ),
    data.record && record(data),
    data.record && live && soon(data, live),
    data.to_fix.length > 0 && fixes,
    matches("played", agent.role === "player" ? "Matches played" : "Matches refereed", data.played, data.total_played, agent.id),
    matches("to-come", agent.playing.length > 0 ? "Matches in play and to come" : "Matches to come", data.to_come, data.total_to_come),
    data.to_fix.length === 0 && fixes,
    errors(data),
    violations(data),
    data.times && data.times.answers > 0 && times(data, widthOf(main, 760)),
  );
}

// A button for the reader to follow this player on the front page.
const following = (agent, league) => {
  const isOwn = followed(league) === agent.id;
  return h(
    "p",
    h(
      "button",
      { type: "button", "aria-pressed": String(isOwn), "data-key": agent.id, onclick: () => follow(league, agent.id) },
      isOwn ? "You follow this player" : "Follow this player",
    ),
  );
};

function record({ record: row, counts, moves }) {
  const tile = (label, value) => h("div", h("dt", label), h("dd", value));
  return h(
    "dl.tiles",
    tile("Rank", [row.shown_rank, " ", movement(row.movement)]),
    row.payoff !== undefined && tile("Payoff", payoffText(row.payoff)),
    tile("Points", row.points),
    tile("Won", row.wins),
    tile("Drawn", row.draws),
    tile(
      "Lost",
      [row.losses, row.technical_losses > 0 && h("span.soft.small", ` ${row.technical_losses} technically`)],
    ),
    counts && tile("Answered", `${counts.answered} of ${counts.asked}`),
    counts && tile("In time", inTime(counts)),
    moves && tile("Moves, as it states", origins(moves)),
  );
}

// Of the answers that were good or bad, and of those that never came.
const inTime = ({ asked, timeouts, unreachable }) =>
  asked ? `${Number((100 * (1 - (timeouts + unreachable) / asked)).toFixed(1))} %` : "–";

// What its author needs to fix.
const toFix = ({ to_fix: advice, counts }) =>
  h(
    "section",
    { "aria-labelledby": "to-fix" },
    h("h2", { id: "to-fix" }, "Technical faults"),
    advice.length === 0
      ? h(
        "p.good",
        counts?.asked
          ? "None: it gave a valid answer in time whenever it was asked."
          : "None so far: it has not been asked anything yet.",
      )
      : h("ol.fix", advice.map((sentence) => h("li", { dir: "auto" }, sentence))),
  );

function errors({ errors: found }) {
  return (
    found.length > 0 &&
    h(
      "section",
      { "aria-labelledby": "errors" },
      h("h2", { id: "errors" }, "Errors in this league"),
      table(
        "Errors, the most frequent first",
        [["Code", ""], ["Times", "n"], ["What it means, and what helps", "why"], ["Last in", ""], ["At", "less"]],
        found.map((error) => ({
          key: error.code,
          cells: [
            error.code,
            error.count,
            [error.meaning, " ", h("span.soft", error.remedy), error.detail && h("pre", { dir: "auto" }, error.detail)],
            error.last_match ? matchLink(error.last_match) : "–",
            moment(error.last_at),
          ],
        })),
        { kind: "full", hidden: true },
      ),
    )
  );
}

function violations({ violations: found }) {
  return (
    found.length > 0 &&
    h(
      "section",
      { "aria-labelledby": "violations" },
      h("h2", { id: "violations" }, "Forgiven departures from the protocol"),
      h("p.soft", "This league is open: it hosts agents that speak a little differently. Elsewhere they would not be."),
      table(
        "Departures from the letter of the protocol",
        [
          ["Rule", ""],
          ["Times", "n"],
          ["What came, the first time", "why"],
          ["What was expected", "why"],
          ["First at", "less"],
        ],
        found.map((one, place) => ({
          key: `${one.rule}-${place}`,
          cells: [
            one.rule,
            one.count,
            h("code", { dir: "auto" }, one.came),
            h("code", one.expected),
            moment(one.first_at),
          ],
        })),
        { kind: "full", hidden: true },
      ),
    )
  );
}

const times = ({ times: own, times_bounds: bounds }, width) =>
  h(
    "section",
    { "aria-labelledby": "times" },
    h("h2", { id: "times" }, "Answer times"),
    h("p", `${plural(own.answers, "answer")}: ${answerTimes(own)}.`),
    timesChart(own, bounds, width),
  );

const matches = (id, heading, found, total, of = null) =>
  total > 0 &&
  h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, heading, h("span.count", total)),
    matchTable(heading, found, {}, of),
    total > found.length && h("p.soft", `${found.length} of ${total} are shown.`),
  );
