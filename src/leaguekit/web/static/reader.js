// What the reader has chosen: what the browser keeps, and what is in the address, so that a link shows the same.

export function stored(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // A browser that keeps nothing forgets it.
  }
  return null;
}

// Show the page again with the same data.
export const redraw = () => dispatchEvent(new Event("redraw"));

// A module that not every reader needs: null until it is there, and then the page is shown again.
export function lazy(load) {
  let module = null;
  let isAsked = false;
  return () => {
    if (!isAsked) {
      isAsked = true;
      load().then(
        (found) => {
          module = found;
          redraw();
        },
        () => {
          isAsked = false;
        },
      );
    }
    return module;
  };
}

// The player that the reader follows in this league.
const key = ({ league_id: id }) => `player ${id}`;
export const followed = (league) => stored(key(league));
export function follow(league, id) {
  stored(key(league), followed(league) === id ? "" : id);
  redraw();
}

// A value behind the ? of the part of the address that begins with #.
const values = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
export const chosen = (name) => values().get(name) ?? "";
export function choose(name, value) {
  const all = values();
  if (value) all.set(name, value);
  else all.delete(name);
  const [page] = location.hash.split("?");
  history.replaceState(null, "", all.size > 0 ? `${page || "#/"}?${all}` : page || "#/");
  redraw();
}

// On a wall a table has no more rows than can be read from the back of a room. Its pages turn by themselves.
const MAX_WALL_ROWS = 12;
export const WALL_PAGE_MS = 10_000;
export const isWall = () => document.documentElement.classList.contains("wall");

export function wallPage(rows) {
  const pages = Math.ceil(rows.length / MAX_WALL_ROWS);
  const first = (Math.floor(Date.now() / WALL_PAGE_MS) % pages) * MAX_WALL_ROWS;
  return { first, part: rows.slice(first, first + MAX_WALL_ROWS) };
}
