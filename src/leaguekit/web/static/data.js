// Where the page gets its data: the only module that knows whether they come from a manager or lie in the page itself.
//
// get("/api/standings", {offset: 0}) gives what that path of the API answers; /openapi.json describes every shape.
// follow(show) calls show(state) with the front page's state (the shape Live) now and whenever it has changed, and
// show(null) while the manager cannot be reached.
//
// A report that is read from disk has its data in <script type="application/json" id="data">, an object from each path
// (with its query, as get makes it) to what the API would have answered. Then nothing is ever fetched.

const embedded = document.getElementById("data");
const data = embedded === null ? null : JSON.parse(embedded.textContent);

export const isReport = data !== null;

export async function get(path, query = {}) {
  const asked = new URLSearchParams(query).toString();
  const url = asked ? `${path}?${asked}` : path;
  if (data !== null) {
    if (!(url in data)) throw new Error(`${url} is not in this report.`);
    return data[url];
  }
  const answer = await fetch(url);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export function follow(show) {
  if (data !== null) {
    show(data["/api/live"]);
    return;
  }
  let state = null;
  const connect = () => {
    const stream = new EventSource("/events");
    stream.addEventListener("snapshot", (event) => {
      state = JSON.parse(event.data);
      show(state);
    });
    stream.addEventListener("change", (event) => {
      if (state !== null) show(apply(state, JSON.parse(event.data)));
    });
    stream.addEventListener("error", () => {
      state = null;
      show(null);
      // The browser comes back by itself when the connection was lost, but not after an answer such as 503.
      if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };
  connect();
}

// Put every item of a change (the shape Change) into its place, and take away what is gone.
export function apply(state, change) {
  state.seq = change.seq;
  state.now = change.now;
  for (const [part, items] of Object.entries(change.set)) {
    if (part === "league") state.league = items;
    else Object.assign(state[part], items);
  }
  for (const [part, keys] of Object.entries(change.drop ?? {})) {
    for (const key of keys) delete state[part][key];
  }
  return state;
}

// What the operator commands, with the admin token: command("pause", token, {reason: "lunch"}).
export async function command(name, token, fields = {}) {
  const params = { command: name, admin_token: token, ...fields };
  const answer = await fetch("/mcp", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method: "operator", params, id: 1 }),
  });
  const found = await answer.json();
  if (found.error) throw new Error(found.error.data?.context?.detail ?? found.error.message);
  return found.result;
}
