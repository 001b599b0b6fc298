// The front page: the league's state and its standings, live.

import { follow } from "./data.js";

const title = document.getElementById("title");
const state = document.getElementById("state");
const standings = document.getElementById("standings");

// Names are agents' own words: they only ever become text.
function row(player) {
  const line = document.createElement("tr");
  const { rank, name, played, wins, draws, losses, points } = player;
  for (const value of [rank, name, played, wins, draws, losses, points]) {
    line.insertCell().textContent = value;
  }
  return line;
}

follow((live) => {
  if (live === null) {
    state.textContent = "The manager cannot be reached; trying again …";
    return;
  }
  const { league } = live;
  title.textContent = league.league_id;
  const played = `${league.matches_played} of ${league.total_matches} matches`;
  const waits = league.waits_for.length ? `, waits for ${league.waits_for.join(" and ")}` : "";
  state.textContent = `${league.state}: round ${league.round} of ${league.total_rounds}, ${played}${waits}`;
  const rows = Object.values(live.standings).sort((one, other) => one.rank - other.rank);
  standings.replaceChildren(...rows.map(row));
});
