// Words for what the API says in codes, and times as people read them.

import { h, screenReaderText } from "./elements.js";

// The marks of a result.
export const MARK_WORDS = { 1: "won", "+": "won without play", "½": "drew", 0: "lost", "-": "lost without play" };

const STATES = {
  WAITING_FOR_REGISTRATIONS: "Waiting for players",
  CREATING_SCHEDULE: "Making the schedule",
  RUNNING_LEAGUE: "In progress",
  LEAGUE_COMPLETED: "Completed",
};
const STAGES = {
  WAITING_FOR_PLAYERS: "players are joining",
  COLLECTING_CHOICES: "players are choosing",
  DRAWING_NUMBER: "the number is drawn",
  FINISHED: "has ended",
};
const STATUS = {
  scheduled: "to come",
  waiting: "waits to begin",
  in_play: "in play",
  held: "waits for the operator",
  ended: "ended",
};
const AGENTS = {
  INIT: "has just come",
  REGISTERED: "registered",
  ACTIVE: "active",
  SUSPENDED: "suspended",
  SHUTDOWN: "has finished",
  WITHDRAWAL: "withdrawn",
  DISQUALIFICATION: "disqualified",
};

export const stateOf = (league) =>
  league.paused && league.state !== "LEAGUE_COMPLETED" ? "Paused" : STATES[league.state];
export const stageOf = (stage) => STAGES[stage] ?? "in play";
// A game with its arguments, of which the names stay as they are.
export const gameOf = (game) => game.replace(/^[^(]*/, (name) => name.replaceAll("_", " "));
// A format with its arguments, such as "knockout, best of 3, third place" and "swiss, 5 rounds".
export function formatOf(format) {
  const [, kind, args] = format.match(/^([^(]*)\(?(.*?)\)?$/s);
  const inWords = args.split(",").filter(Boolean).map((one) => {
    const [key, value = ""] = one.trim().replaceAll("_", " ").split("=");
    if (/^(true|false)$/i.test(value)) return value[0].toLowerCase() === "t" ? key : `no ${key}`;
    return (key.endsWith(" of") ? `${key} ${value}` : `${value} ${key}`).trim();
  });
  return [kind.replace("round_robin", "round-robin").replaceAll("_", " "), ...inWords].join(", ");
}
export const statusOf = (match) => STATUS[match.status];
export const agentState = (agent) => AGENTS[agent.out ?? agent.state];
export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// How many moves were an agent's own, retried and replaced, as it states.
export const origins = (moves) =>
  ["own", "retried", "replaced"].filter((origin) => moves[origin] > 0)
    .map((origin) => `${moves[origin].toLocaleString("en")} ${origin}`)
    .concat(moves.illegal > 0 ? [`${moves.illegal.toLocaleString("en")} illegal at first`] : []).join(", ");

export function movement(ranks) {
  if (!ranks) return ranks === 0 ? screenReaderText("unchanged") : null;
  const [way, arrow] = ranks > 0 ? ["up", "▲"] : ["down", "▼"];
  const said = `${way} ${Math.abs(ranks)}`;
  const visible = h("span", { "aria-hidden": "true" }, arrow, Math.abs(ranks));
  return h(`span.${way}`, { title: said }, visible, screenReaderText(said));
}

export const payoffText = (payoff) => payoff.toFixed(3);

export const score = (match) => (match.points ? `${match.points[0]} : ${match.points[1]}` : "–");

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 60 ? `${Number(value.toPrecision(3))} s` : duration(value);
}

// How long answers took, in a sentence without its end.
export const answerTimes = ({ answers, median, p95, longest }) => answers === 1
  ? `it took ${seconds(longest)}`
  : `half of them within ${seconds(median)}, 95 % within ${seconds(p95)}, the longest ${seconds(longest)}`;

export function duration(value) {
  const whole = Math.max(0, Math.ceil(value));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const padded = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${minutes}:${padded(rest)}`;
}

// Such as "about 3 minutes".
export function roughly(value) {
  if (value < 100) return plural(Math.round(value), "second");
  return `about ${value < 6000 ? plural(Math.round(value / 60), "minute") : plural(Math.round(value / 3600), "hour")}`;
}

const ZONED = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

// When something was, on the reader's clock; with the day if that is not today.
export function moment(at) {
  if (!at) return "–";
  const [day, today] = [DAY.format(new Date(at)), DAY.format(new Date())];
  const time = new Date(at).toLocaleTimeString("en-GB");
  return h("time", { datetime: at, title: ZONED.format(new Date(at)) }, day === today ? time : `${day}, ${time}`);
}

// The same with the day, the year and the reader's time zone.
export const zoned = (at) => h("time", { datetime: at }, ZONED.format(new Date(at)));

// Such as "Europe/Berlin (CET)".
export const timeZone = () => {
  const { timeZone: place } = ZONED.resolvedOptions();
  const { value } = ZONED.formatToParts().find((part) => part.type === "timeZoneName");
  return place === value ? place : `${place} (${value})`;
};

// The manager's clock is the one that counts.
let ahead = 0;
export const setClock = (now) => {
  ahead = Date.parse(now) - Date.now();
};
const left = (until) => (new Date(until) - Date.now() - ahead) / 1000;

export const isAhead = (at) => left(at) > 0;

// The time that is left, which counts down by itself.
export const countdown = (until) => h("time.left", { "data-until": until, datetime: until }, duration(left(until)));

// The time that is left of the present try, and which try it is if it is not the first.
export const timeLeft = ({ deadline, try_number: number, max_tries: max }) =>
  deadline && [", ", countdown(deadline), " left", number > 1 && `, try ${number} of ${max}`];

export function tick(root) {
  for (const shown of root.querySelectorAll("[data-until]")) {
    const text = duration(left(shown.dataset.until));
    if (shown.textContent !== text) shown.firstChild.data = text;
  }
}
