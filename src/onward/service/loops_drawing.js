// Elements, numbers and charts. Whatever comes from a user becomes text or an attribute's value, never markup.
const element = (tag, given = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) if (value !== null) made.setAttribute(name, value);
  made.append(...inside.filter((each) => each !== null && each !== undefined));
  return made;
};
const shape = (tag, given, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};
const finite = (value) => typeof value === "number" && Number.isFinite(value);

function number(value, digits = 4) {
  if (!finite(value)) return "–";
  const size = Math.abs(value);
  const text = Number.isInteger(value) && size < 1e9 ? value.toLocaleString("en-GB")
    : size < 1e-4 || size >= 1e6 ? value.toExponential(2)
    : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
const percent = (value) => finite(value) ? `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)}%` : "–";
function span(seconds) {
  if (!finite(seconds)) return "–";
  const whole = Math.max(0, Math.round(seconds));
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : m ? `${m} min ${whole % 60} s` : `${whole} s`;
}
const clock = (seconds, day) => new Date(1000 * seconds).toLocaleString("en-GB", {
  ...(day ? { day: "numeric", month: "short" } : {}), hour: "2-digit", minute: "2-digit", ...(day ? {} : { second: "2-digit" }) });

// A table whose first column names the rows. A cell is text or an element.
function table(head, rows, name = "numbers full", marked = () => null) {
  const cells = (tag, row, first) => row.map((cell, i) => {
    const given = i === 0 && first ? first : {};
    return element(i === 0 && first ? "th" : tag, cell instanceof Element && cell.dataset.cell ? { ...given, class: cell.dataset.cell } : given, cell);
  });
  return element("table", { class: name },
    element("thead", {}, element("tr", {}, ...head.map((each) => element("th", { scope: "col" }, each)))),
    element("tbody", {}, ...rows.map((row, i) => element("tr", { class: marked(i) }, ...cells("td", row, { scope: "row" })))));
}

// A bar from one fraction to another, with a mark if there is one; the number stands beside it, so it is not read out.
function bar(from, to, name = "", mark = null) {
  const within = (value) => Math.max(0, Math.min(1, value));
  const inside = element("i", { class: name });
  inside.style.left = `${100 * within(Math.min(from, to))}%`;
  inside.style.width = `${100 * (within(Math.max(from, to)) - within(Math.min(from, to)))}%`;
  const track = element("span", { "aria-hidden": "true", "data-cell": "bar" }, inside);
  if (mark !== null) {
    const dot = element("i", { class: "mark" });
    dot.style.left = `${100 * within(mark)}%`;
    track.append(dot);
  }
  return track;
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) found.push(i * step);
  return found.map((each) => Number(each.toPrecision(12)));
}
function timeTicks(low, high, wanted) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31536000];
  const step = steps.find((each) => each >= (high - low) / wanted) ?? 31536000;
  const shift = 60 * new Date(1000 * low).getTimezoneOffset(); // whole hours and days of the reader's clock
  const found = [];
  for (let at = Math.ceil((low - shift) / step) * step + shift; at <= high; at += step) found.push(at);
  return { found, day: step >= 21600 || high - low > 86400, seconds: step < 60 };
}
function padded(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high > low ? 0.08 * (high - low) : Math.max(0.1 * Math.abs(high), 0.1);
  return [low - room, high + room];
}
const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))];

let clips = 0;
// An SVG of the width there is, with a grid; `draw` gets the scales and gives shapes that are cut off at the frame.
function chart(width, height, across, up, label, draw, names) {
  const room = { left: 52, right: 14, top: 10, bottom: names.across ? 40 : 26 };
  const x = (value) => room.left + (value - across.low) / (across.high - across.low || 1) * (width - room.left - room.right);
  const y = (value) => height - room.bottom - (value - up.low) / (up.high - up.low || 1) * (height - room.top - room.bottom);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  for (const each of ticks(up.low, up.high, 4)) {
    svg.append(shape("line", { class: "grid", x1: room.left, x2: width - room.right, y1: y(each), y2: y(each) }),
      shape("text", { x: room.left - 6, y: y(each) + 4, "text-anchor": "end" }, number(each)));
  }
  for (const [at, text] of across.ticks) {
    svg.append(shape("line", { class: "grid", x1: x(at), x2: x(at), y1: height - room.bottom, y2: height - room.bottom + 4 }),
      shape("text", { x: Math.max(room.left + 14, Math.min(x(at), width - 4 - 3.4 * text.length)), y: height - room.bottom + 17, "text-anchor": "middle" }, text));
  }
  if (names.across) svg.append(shape("text", { x: (room.left + width) / 2, y: height - 4, "text-anchor": "middle" }, names.across));
  clips += 1;
  const id = `clip-${clips}`;
  svg.append(shape("clipPath", { id }, shape("rect", { x: room.left, y: room.top - 4, width: Math.max(0, width - room.left - room.right + 6), height: Math.max(0, height - room.top - room.bottom + 8) })));
  svg.append(shape("g", { "clip-path": `url(#${id})` }, ...draw(x, y)));
  return svg;
}

// Neighbouring stretches put together, so that there are at most so many of them with rewards.
function grouped(bins, most) {
  const each = Math.ceil(bins.length / most);
  const groups = [];
  for (let i = 0; i < bins.length; i += each) {
    const some = bins.slice(i, i + each).filter((bin) => bin.rewards > 0);
    const rewards = some.reduce((sum, bin) => sum + bin.rewards, 0);
    if (rewards) groups.push({ rewards, at: some.reduce((sum, bin) => sum + bin.start * bin.rewards, 0) / rewards, mean: some.reduce((sum, bin) => sum + bin.mean * bin.rewards, 0) / rewards });
  }
  return groups;
}

function rewardChart(width, bins, changes) {
  const known = bins.filter((bin) => finite(bin.so_far.low));
  if (known.length < 2) return null;
  const points = grouped(bins, Math.max(12, Math.min(60, Math.floor(width / 16))));
  const late = known.slice(Math.floor(known.length / 10)); // the first bands are wide, and would press all else flat
  const [low, high] = padded([quantile(late.map((bin) => bin.so_far.low), 0.1), quantile(late.map((bin) => bin.so_far.high), 0.9),
    ...late.map((bin) => bin.so_far.mean), quantile(points.map((each) => each.mean), 0.05), quantile(points.map((each) => each.mean), 0.95)]);
  const [start, end] = [bins[0].start, bins[bins.length - 1].start];
  const { found, day, seconds } = timeTicks(start, end, Math.max(2, Math.floor(width / 130)));
  const text = (at) => day ? clock(at, true) : seconds ? clock(at, false) : clock(at, false).slice(0, 5);
  const last = known[known.length - 1].so_far;
  const label = `Mean reward so far: ${number(last.mean)}, band from ${number(last.low)} to ${number(last.high)}, over ${span(end - start)}; ${changes.length} changes noticed. The values stand below.`;
  return chart(width, width < 500 ? 210 : 260, { low: start, high: end, ticks: found.map((at) => [at, text(at)]) }, { low, high }, label, (x, y) => {
    const edge = (name, some) => some.map((bin) => `${x(bin.start).toFixed(1)},${y(bin.so_far[name]).toFixed(1)}`);
    return [
      shape("polygon", { class: "band", points: [...edge("low", known), ...edge("high", [...known].reverse())].join(" ") }),
      ...points.map((each) => shape("circle", { class: "point", cx: x(each.at), cy: y(each.mean), r: 2.5 }, shape("title", {}, `${number(each.mean)}: mean of ${number(each.rewards)} rewards around ${clock(each.at, day)}`))),
      ...changes.filter((each) => each.noticed >= start).map((each) => shape("line", { class: "change", x1: x(each.noticed), x2: x(each.noticed), y1: 0, y2: 400 }, shape("title", {}, `A change was noticed, ${clock(each.noticed, true)}`))),
      shape("polyline", { class: "line", points: edge("mean", known).join(" ") }),
    ];
  }, {});
}

function calibrationChart(width, groups) {
  if (groups.length === 0) return null;
  const ends = groups.flatMap((each) => [each.reward - 2 * each.standard_error, each.reward + 2 * each.standard_error]);
  const [low, high] = padded([...ends, ...groups.map((each) => each.estimate)]);
  const [left, right] = padded(groups.map((each) => each.estimate));
  const within = groups.filter((each) => Math.abs(each.estimate - each.reward) <= 2 * each.standard_error).length;
  const label = `Estimates against rewards: in ${within} of ${groups.length} groups the mean reward is within two standard errors of the estimate. The values stand below.`;
  return chart(width, 240, { low: left, high: right, ticks: ticks(left, right, Math.max(4, Math.floor(width / 110))).map((at) => [at, number(at)]) }, { low, high }, label, (x, y) => [
    shape("line", { class: "same", x1: x(left), y1: y(left), x2: x(right), y2: y(right) }),
    ...groups.flatMap((each) => [
      shape("line", { class: "whisker", x1: x(each.estimate), x2: x(each.estimate), y1: y(each.reward - 2 * each.standard_error), y2: y(each.reward + 2 * each.standard_error) }),
      shape("circle", { class: "point", cx: x(each.estimate), cy: y(each.reward), r: 4 }, shape("title", {}, `estimate ${number(each.estimate)}, reward ${number(each.reward)} ± ${number(2 * each.standard_error)}`)),
    ]),
  ], { across: "estimate (across), mean reward (up)" });
}
