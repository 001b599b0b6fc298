// Where the page gets its data, and where the operator's commands go.
//
// get("api/standings", {offset: 0}) gives what that path of the API answers; /openapi.json describes every type.
// follow(show, lost) calls show(live) with the front page's state (the type Live) now and whenever it has changed, and
// lost() when the manager cannot be reached; it is tried again until it can.

const RETRY_MS = 2000;

// An answer that says no; isBusy if it may say something else in a moment.
export class Refused extends Error {
  constructor(message, { status }) {
    super(message);
    this.isBusy = status === 429 || status === 503;
  }
}

export async function get(path, query = {}) {
  const asked = new URLSearchParams(query).toString();
  const answer = await fetch(asked ? `${path}?${asked}` : path);
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.error, answer);
  return found;
}

export function follow(show, lost) {
  let live = null;
  const stream = new EventSource("events");
  stream.addEventListener("snapshot", (event) => {
    live = JSON.parse(event.data);
    show(live);
  });
  stream.addEventListener("change", (event) => {
    if (live !== null) show(apply(live, JSON.parse(event.data)));
  });
  stream.addEventListener("error", () => {
    // What comes next is a new snapshot: nothing may be put into the old one.
    live = null;
    lost();
    // The browser comes back by itself when the connection was lost, but not after an answer such as 503.
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS, show, lost);
  });
}

// Put every item of a change (the type Change) into its place, and take away what is gone.
function apply(live, change) {
  live.seq = change.seq;
  live.now = change.now;
  for (const [part, items] of Object.entries(change.set)) {
    if (part === "league") live.league = items;
    else Object.assign(live[part], items);
  }
  for (const [part, keys] of Object.entries(change.drop ?? {})) {
    for (const key of keys) delete live[part][key];
  }
  return live;
}

// What the operator commands, with the admin token: command("pause", token, {reason: "lunch"}).
export async function command(name, token, fields = {}) {
  const params = { command: name, admin_token: token, ...fields };
  const answer = await fetch("mcp", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method: "operator", params, id: 1 }),
  });
  const found = await answer.json();
  if (found.error) throw new Refused(found.error.data?.context?.detail ?? found.error.message ?? found.error, answer);
  return found.result;
}
