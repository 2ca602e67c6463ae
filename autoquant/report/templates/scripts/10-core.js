// What all parts of the script share. The page is whole without it: it only adds. All parts have one scope: what a part
// keeps to itself stands in a block of its own, what others use has a name here.

const data = JSON.parse(document.getElementById("data").textContent);

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// The address names the place: #competitor=NAME&attempt=17
const place = {
  get() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  },
  set(words) {
    const kept = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== null && value !== ""));
    history.replaceState(history.state, "", kept.size ? `#${kept}` : location.pathname + location.search);
  },
};

// Elements that only the script can serve are made by it, never by the page.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const pen = (tag, attributes = {}) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const offer = (name, content, type) => {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

// What is said here, a screen reader tells when it has nothing better to do.
const voice = make("p", { class: "unseen", "aria-live": "polite" });
document.body.append(voice);
const say = (words) => {
  if (voice.textContent !== words) voice.textContent = words;
};

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// How much of the race is shown, 0 to 1; a replay moves it.
const moment = { share: 1, playing: false };

// Parts that hide attempts bring one back: each is called with the competitor's index and the attempt's number.
const reveals = [];

// Parts with a state of their own keep it when a watched page takes its new version: { name, get(), set(value) }.
const keepers = [];

// Numbers and amounts in words.
const write = {
  fixed(value, digits = 3, sign = false) {
    const words = Math.abs(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    if (Number(words.replaceAll(",", "")) === 0) return words;
    return (value < 0 ? "−" : sign ? "+" : "") + words;
  },
  attempt: (value) => `attempt ${Math.floor(value)}`,
  time(value) {
    const [hours, minutes, seconds] = [Math.floor(value / 3600), Math.floor((value % 3600) / 60), Math.floor(value % 60)];
    return hours ? `${hours} h ${minutes} m` : minutes ? `${minutes} m ${seconds} s` : `${seconds} s`;
  },
  tokens(value) {
    const [size, unit] = [[1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([least]) => value >= 0.9995 * least) ?? [1, ""];
    return `${size > 1 ? write.fixed(value / size, value / size < 9.95 ? 1 : 0) : Math.floor(value)}${unit} tokens`;
  },
  cost: (value) => `$${write.fixed(value, 2)}`,
};

// Competitors with their attempts, from the columns of the data block.
const racers = data.competitors.map((name, index) => {
  const columns = data.attempts[index];
  let utc = 0;
  const attempts = columns.status.map((status, row) => {
    utc += columns.utc?.[row] ?? 0;
    return { number: row + 1, row, utc: columns.utc ? utc : null, status: data.statuses[status] };
  });
  return { name, index, columns, attempts, ends: data.ends[index], places: {} };
});

// A column's value for an attempt; null where it is missing. What was tried is read off its row where all have one.
const told = (racer, attempt, column) => racer.columns[column]?.[attempt.row] ?? (column === "description" ? tried(racer, attempt) : null);

const tried = (racer, attempt) => document.querySelector(`#attempt-${racer.index}-${attempt.number} bdi`)?.textContent ?? null;

// Where a competitor's attempts stand on an axis, null where nobody knows; the rules are those of report/axes.py.
const placesOn = (racer, axis) => {
  const { columns, attempts } = racer;
  const summed = (values) => {
    let sum = null;
    return values.map((value) => (sum = value === null ? sum : (sum ?? 0) + value));
  };
  const made = {
    attempt: () => attempts.map((attempt) => attempt.number),
    time: () => columns.agent_seconds,
    tokens: () => summed(columns.tokens),
    cost: () => summed(columns.cost_usd),
  };
  racer.places[axis] ??= axis in racer.ends ? made[axis]() : attempts.map(() => null);
  return racer.places[axis];
};
