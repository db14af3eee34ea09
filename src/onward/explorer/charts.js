// Charts: an SVG as wide as its place, with a frame, ticks and scales.
const asinhScale = (unit) => Object.assign((value) => Math.asinh(value / unit), { unit });

function niceTicks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

// A chart in a place of the page. `across` and `up` have low, high, ticks, name and, if not linear, a scale.
function chart(place, { height, across, up, label, room = {}, square = false }) {
  const width = Math.max(260, Math.floor(place.clientWidth));
  const edge = { left: 44, right: 12, top: up.name ? 26 : 12, bottom: 40, ...room };
  const tall = square ? Math.min(width - edge.left - edge.right, height ?? 520) + edge.top + edge.bottom : height;
  const fit = (axis, from, to) => {
    const scale = axis.scale ?? ((value) => value);
    const [low, high] = [scale(axis.low), scale(axis.high)];
    return (value) => from + (scale(value) - low) / (high - low || 1) * (to - from);
  };
  const right = square ? edge.left + tall - edge.top - edge.bottom : width - edge.right;
  const x = fit(across, edge.left, right), y = fit(up, tall - edge.bottom, edge.top);
  const svg = shape("svg", { viewBox: `0 0 ${square ? right + edge.right : width} ${tall}`, width: square ? right + edge.right : width, height: tall, role: "img", "aria-label": label });
  for (const each of up.ticks ?? niceTicks(up.low, up.high, tall > 200 ? 5 : 3)) {
    svg.append(shape("line", { class: "grid", x1: edge.left, x2: right, y1: y(each), y2: y(each) }),
      shape("text", { class: "tick", x: edge.left - 6, y: y(each) + 4, "text-anchor": "end" }, (up.show ?? words)(each)));
  }
  for (const each of across.ticks ?? niceTicks(across.low, across.high, square ? 5 : Math.max(3, Math.floor((right - edge.left) / 80)))) {
    svg.append(shape("line", { class: "grid", x1: x(each), x2: x(each), y1: edge.top, y2: tall - edge.bottom }),
      shape("text", { class: "tick", x: x(each), y: tall - edge.bottom + 16, "text-anchor": "middle" }, (across.show ?? words)(each)));
  }
  if (across.name) svg.append(shape("text", { class: "name", x: (edge.left + right) / 2, y: tall - 6, "text-anchor": "middle" }, across.name));
  const id = `clip-${chart.count += 1}`;
  const inside = shape("g", { "clip-path": `url(#${id})` });
  svg.append(shape("clipPath", { id }, shape("rect", { x: edge.left, y: edge.top - 1, width: right - edge.left, height: tall - edge.top - edge.bottom + 2 })), inside);
  if (up.name) svg.append(shape("text", { class: "name", x: edge.left, y: edge.top - 10 }, up.name)); // above the frame
  place.replaceChildren(svg);
  // The value under a pointer; for linear axes.
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const [px, py] = [(event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width), (event.clientY - box.top) * (tall / box.height)];
    return { x: across.low + (px - edge.left) / (right - edge.left) * (across.high - across.low), y: up.high - (py - edge.top) / (tall - edge.top - edge.bottom) * (up.high - up.low), px, py };
  };
  return { svg, inside, x, y, at, left: edge.left, right, top: edge.top, bottom: tall - edge.bottom, width, tall };
}
chart.count = 0;

// Places in pixels, moved apart until any two are that far from each other, so that none hides another.
function apart(places, least) {
  const moved = places.map((each) => [...each]);
  for (let turn = 0; turn < 60; turn += 1) {
    let near = false;
    for (let i = 0; i < moved.length; i += 1) for (let j = 0; j < i; j += 1) {
      const [a, b] = [moved[i], moved[j]], across = a[0] - b[0] || 0.1, up = a[1] - b[1], far = Math.hypot(across, up);
      if (far >= least) continue;
      near = true;
      const by = (least - far) / far / 2 + 1e-3;
      a[0] += by * across; a[1] += by * up;
      b[0] -= by * across; b[1] -= by * up;
    }
    if (!near) break;
  }
  return moved;
}

const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${Math.max(-5000, Math.min(5000, py)).toFixed(1)}`).join("");
const line = (frame, points, name) => shape("path", { class: `line ${name}`, d: path(points.map(([a, b]) => [frame.x(a), frame.y(b)])) });
const band = (frame, points, name) => shape("path", { class: `band ${name}`, d: `${path([...points.map(([a, low]) => [frame.x(a), frame.y(low)]), ...[...points].reverse().map(([a, , high]) => [frame.x(a), frame.y(high)])])}Z` });
const disc = (frame, a, b, r, name, ...inside) => shape("circle", { class: `disc ${name}`, cx: frame.x(a), cy: frame.y(b), r }, ...inside);
const rule = (frame, from, to, name) => shape("line", { class: name, x1: frame.x(from[0]), y1: frame.y(from[1]), x2: frame.x(to[0]), y2: frame.y(to[1]) });
