// Elements, numbers as text, and controls. Whatever comes from the address becomes text or an attribute's value, never markup.
const fill = (made, given, inside) => {
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.filter((each) => each !== null && each !== undefined));
  return made;
};
const element = (tag, given = {}, ...inside) => fill(document.createElement(tag), given, inside);
const shape = (tag, given = {}, ...inside) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), given, inside);

function words(value, digits = 3) {
  if (value === Infinity || value === -Infinity) return value > 0 ? "∞" : "−∞";
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = Number.isInteger(value) && size < 1e6 ? value.toLocaleString("en-GB")
    : size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(1).replace(".0e", "e")
    : size >= 10 ** digits ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
const percent = (value) => `${Number((100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0))}%`;

// A number that is shown: in words to read, in full in data-value.
function tile(name, label, note = "", colour = null) {
  return element("div", { class: "tile", style: colour && `--own: var(--${colour})` }, element("dt", {}, label),
    element("dd", {}, element("output", { "data-name": name }, "–"), note && element("small", { "data-note": name }, note)));
}
// One tile for both ends of an interval.
function rangeTile([low, high], label, colour) {
  return element("div", { class: "tile", style: `--own: var(--${colour})` }, element("dt", {}, label),
    element("dd", {}, element("output", { "data-name": low }), element("i", {}, " to "), element("output", { "data-name": high })));
}
function put(root, name, value, text = words(value)) {
  const at = root.querySelector(`[data-name="${name}"]`);
  at.textContent = text;
  at.dataset.value = String(value);
}
const note = (root, name, text) => { root.querySelector(`[data-note="${name}"]`).textContent = text; };

// A slider over the values that a setting can take.
function slider(label, field, show, change) {
  const { choices } = field;
  const shown = element("b"); // no output: a label names the first field in it
  const input = element("input", { type: "range", min: 0, max: choices.length - 1, step: 1, oninput: () => change(choices[input.value]) });
  const made = element("label", { class: "control" }, element("span", {}, label, " ", shown), input);
  made.set = (value) => {
    input.value = choices.indexOf(value);
    shown.textContent = show(value);
    input.setAttribute("aria-valuetext", show(value));
  };
  return made;
}
function picker(label, field, names, change) {
  const input = element("select", { onchange: () => change(field.choices[input.selectedIndex]) }, ...names.map((each) => element("option", {}, each)));
  const made = element("label", { class: "control" }, element("span", {}, label), input);
  made.set = (value) => { input.selectedIndex = field.choices.indexOf(value); };
  return made;
}
const button = (text, act, given = {}) => element("button", { type: "button", onclick: act, ...given }, text);

// Fields of a part's state, as they stand in the address: each has a default, and reads a text, or nothing if it is none.
const oneOf = (choices, initial) => ({ choices, initial, write: String, read: (text) => choices.find((each) => String(each) === text) });
const whole = (low, high, initial) => ({ initial, write: String, read: (text) => (/^\d{1,7}$/.test(text) && +text >= low && +text <= high ? +text : undefined) });
const decimal = (low, high, initial) => ({ initial, write: String, read: (text) => (text !== "" && +text >= low && +text <= high ? +text : undefined) });
const initialState = (fields) => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, structuredClone(field.initial)]));

function writeState(id, fields, state) {
  const told = Object.entries(fields).filter(([name, field]) => field.write(state[name]) !== field.write(field.initial));
  return told.length ? `${id}?${told.map(([name, field]) => `${name}=${encodeURIComponent(field.write(state[name])).replaceAll("%2C", ",")}`).join("&")}` : id;
}
function readState(fields, query) {
  const state = initialState(fields);
  for (const [name, text] of new URLSearchParams(query)) {
    const value = fields[name]?.read(text);
    if (value !== undefined) state[name] = value;
  }
  return state;
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Do something again and again, once a frame at most, until it says that it is done. It goes on in a page that is hidden.
// `ended` is called when it is done, not when it is stopped.
function play(step, wait = 0, ended = () => {}) {
  let timer = setTimeout(function next() {
    timer = step() ? setTimeout(next, wait) : null;
    if (!timer) ended();
  }, wait);
  return { stop: () => { clearTimeout(timer); timer = null; }, running: () => timer !== null };
}

// Numbers as Python writes them.
const pythonList = (values) => `[${values.map((each) => (Array.isArray(each) ? pythonList(each) : pythonNumber(each))).join(", ")}]`;
const pythonNumber = (value) => (Number.isInteger(value) ? `${value}.0` : String(value));
