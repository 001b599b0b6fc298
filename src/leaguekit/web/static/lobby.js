// The front page before the league begins: when it begins, who has come, and how to take part.

import { h } from "./elements.js";
import { people } from "./standings.js";
import { countdown, isAhead, plural, zoned } from "./words.js";

const MAX_FREE = 12;
const INSTALL = "pip install leaguekit";

export const lobby = (live, rows) => [begins(live.league), h("div.lobby", here(live, rows), join(live.league))];

function begins(league) {
  const { starts_at: at, starts_with: wanted, players, referees, paused, waits_for: waits } = league;
  const others = waits.filter((reason) => !/^(\d+ more|the operator$)/.test(reason));
  return h(
    "section.begins",
    { "aria-label": "When it begins" },
    at && isAhead(at)
      ? [h("p.large", "Begins in ", countdown(at)), h("p", "at ", zoned(at))]
      : wanted
        ? h("p.large", "Begins when ", plural(wanted.players, "player"), " and ", plural(wanted.referees, "referee"), " are here")
        : h("p.large", at ? "Begins at any moment" : "Begins when its operator starts it"),
    wanted && [
      counted("Players", players, wanted.players),
      counted("Referees", referees, wanted.referees),
    ],
    paused && h("p.notice", "The league is paused by its operator"),
    others.length > 0 && h("p.notice", "Waits for ", others.join("; ")),
  );
}

const counted = (what, count, wanted) => h(
  "p.progress",
  h("span.what", what),
  h("progress", { max: wanted, value: Math.min(count, wanted), "aria-label": `${what} that are here` }),
  h("span", `${count} of ${wanted}`, count < wanted && `, ${wanted - count} missing`),
);

function here({ league }, rows) {
  const free = league.starts_with ? Math.max(0, league.starts_with.players - league.players) : 0;
  const more = league.players - rows.length;
  return h(
    "section",
    { "aria-labelledby": "here" },
    h("h2", { id: "here" }, "Players here", h("span.count", league.players)),
    rows.length === 0 && h("p.soft", "Nobody has come yet. Be the first."),
    people(
      rows,
      Array.from({ length: Math.min(free, MAX_FREE) }, (_, place) => h("li.free", { "data-key": `free ${place}` }, "free")),
    ),
    free > MAX_FREE && h("p.soft", `and ${free - MAX_FREE} more places`),
    more > 0 && h("p.soft", `and ${plural(more, "more player")}: `, h("a", { href: "#/agents" }, "all agents")),
  );
}

// How to take part

function join({ needs_seat: needsSeat, gateway }) {
  const isElsewhere = !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  const seat = needsSeat ? "?seat=CODE" : "";
  const url = quoted(`${new URL("mcp", location.href.split("#")[0])}${seat}`);
  const host = isElsewhere ? " --host YOUR_ADDRESS" : "";
  return h(
    "section",
    { "aria-labelledby": "join" },
    h("h2", { id: "join" }, "Take part"),
    needsSeat && h("p", "You need a seat code, which the operator gives you. Put it in the place of CODE, and show it to nobody."),
    h(
      "div.ways",
      gateway && [
        way("In the browser", h("p", "Play by hand, without a program."), h("p", h("a.button", { href: gateway }, "Take a seat"))),
        way(
          "With a chat application",
          h("p", "Add this MCP server to it, such as in Claude Code:"),
          command(`claude mcp add --transport http league ${quoted(`${gateway}mcp${seat}`)}`),
          h("p", "Then say: play in the league as Ada until it is over."),
        ),
      ],
      way(
        "In Python, with the SDK",
        h("p", "The strategy is one function."),
        command(
          INSTALL,
          "league new player Ada",
          "cd ada",
          `python agent.py --manager ${url}${isElsewhere ? " --host 0.0.0.0" : ""}`,
        ),
        gateway && h("p", "Or, behind a router:"),
        gateway && command(`league player --name Ada --strategy agent:choose --manager ${url} --relay ${gateway}`),
      ),
      way(
        "In plain Python",
        h("p", "One file, with nothing but the standard library."),
        command(INSTALL, "league new player Ada --plain", "cd ada", `python agent.py --manager ${url}${host}`),
      ),
      way(
        "In JavaScript",
        h("p", "One file, with nothing but Node."),
        command(INSTALL, "league new player Ada --lang javascript", "cd ada", `node agent.mjs --manager ${url}${host}`),
      ),
    ),
    isElsewhere && h("p.soft", "YOUR_ADDRESS is the address at which the machine of the league reaches yours."),
    !gateway && h("p.soft", "There are no seats for chat applications and for people in a browser: no gateway was started with this league."),
  );
}

const way = (heading, ...content) => h("section.way", h("h3", heading), content);
const command = (...lines) => h("pre", { tabindex: "0" }, lines.join("\n"));
const quoted = (text) => (text.includes("?") ? `'${text}'` : text);
