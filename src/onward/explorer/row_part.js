// One new row: ridge, forward, leverage and the confidence set, on rows that are placed by hand. Features are (1, x).
const REACH = 3; // x and y go from −3 to 3
const MOST_ROWS = 40;
const pairs = {
  initial: [[-1.8, -1.1], [-1.4, -0.5], [-0.9, -0.7], [-0.4, 0.3], [0, 0.2], [0.3, 0.7]],
  write: (rows) => rows.flat().join(","),
  read: (text) => {
    const values = text === "" ? [] : text.split(",").map(Number);
    if (values.length % 2 || values.length > 2 * MOST_ROWS || !values.every((each) => Math.abs(each) <= REACH)) return undefined;
    return Array.from({ length: values.length / 2 }, (_, i) => [values[2 * i], values[2 * i + 1]]);
  },
};

const rowPart = {
  id: "row",
  fields: {
    rows: pairs,
    x: decimal(-REACH, REACH, 2),
    lam: oneOf([0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10], 0.1),
    sigma: oneOf([0.05, 0.1, 0.2, 0.3, 0.5, 1], 0.3),
    bound: oneOf([0.5, 1, 1.5, 2, 3, 5], 1.5),
    delta: oneOf([0.01, 0.05, 0.1, 0.2], 0.05),
  },

  mount(panel, change) {
    this.panel = panel;
    this.plot = panel.querySelector(".plot");
    this.pen = null; // where Enter places a row
    const { lam, sigma, bound, delta } = this.fields;
    this.controls = {
      lam: slider("Regularisation λ", lam, words, (value) => change({ lam: value })),
      sigma: slider("Noise σ", sigma, words, (value) => change({ sigma: value })),
      bound: slider("Known bound ‖θ*‖ ≤ S", bound, words, (value) => change({ bound: value })),
      delta: slider("May fail with probability δ", delta, words, (value) => change({ delta: value })),
    };
    panel.querySelector(".controls").append(...Object.values(this.controls));
    panel.querySelector(".buttons").append(
      button("Undo row", () => change({ rows: this.state.rows.slice(0, -1) })),
      button("Clear rows", () => change({ rows: [] })),
      button("Start over", () => change(initialState(this.fields))));
    panel.querySelector(".tiles").append(
      tile("ridge", "Ridge predicts", "xᵀθ", "ridge"), tile("forward", "Forward predicts", "ridge / (1 + q)", "forward"),
      tile("leverage", "Leverage q", "how new the row is"), tile("radius", "Radius of the set", "W, in the norm of G"),
      rangeTile(["ridgeLow", "ridgeHigh"], "Ridge's interval", "ridge"), rangeTile(["forwardLow", "forwardHigh"], "Forward's interval", "forward"));
    this.listen(change);
  },

  listen(change) {
    const { plot } = this;
    const round = (value) => Math.max(-REACH, Math.min(REACH, Math.round(20 * value) / 20));
    let begun = null;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const at = this.frame.at(event);
      const near = this.state.rows.findIndex(([a, b]) => Math.hypot(this.frame.x(a) - at.px, this.frame.y(b) - at.py) < 14);
      begun = { px: event.clientX, py: event.clientY, near, moved: false };
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      if (!begun) return;
      begun.moved ||= Math.hypot(event.clientX - begun.px, event.clientY - begun.py) > 6;
      if (!begun.moved) return;
      const { x, y } = this.frame.at(event);
      if (begun.near < 0) change({ x: round(x) });
      else change({ rows: this.state.rows.map((row, i) => (i === begun.near ? [round(x), round(y)] : row)) });
    });
    plot.addEventListener("pointerup", (event) => {
      const was = begun;
      begun = null;
      if (!was || was.moved) return;
      const { x, y } = this.frame.at(event);
      if (was.near >= 0) change({ rows: this.state.rows.filter((_, i) => i !== was.near) });
      else if (Math.abs(x) <= REACH && Math.abs(y) <= REACH) this.place(round(x), round(y), change);
    });
    plot.addEventListener("pointercancel", () => { begun = null; });
    plot.addEventListener("keydown", (event) => {
      const { x } = this.state, by = event.shiftKey ? 0.5 : 0.05;
      const moves = { ArrowLeft: () => change({ x: round(x - by) }), ArrowRight: () => change({ x: round(x + by) }), Home: () => change({ x: -REACH }), End: () => change({ x: REACH }),
        ArrowUp: () => this.movePen(by), ArrowDown: () => this.movePen(-by), Enter: () => this.place(x, round(this.pen ?? 0), change), Backspace: () => change({ rows: this.state.rows.slice(0, -1) }) };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    });
  },

  place(x, y, change) {
    if (this.state.rows.length < MOST_ROWS) change({ rows: [...this.state.rows, [x, y]] });
  },

  movePen(by) {
    this.pen = Math.max(-REACH, Math.min(REACH, Math.round(20 * ((this.pen ?? 0) + by)) / 20));
    this.draw(this.state);
  },

  draw(state) {
    this.state = state;
    const { rows, x, lam, sigma, bound, delta } = state;
    for (const [name, control] of Object.entries(this.controls)) control.set(state[name]);
    const factor = new Factor(2, lam);
    for (const [a, y] of rows) factor.absorb([1, a], [y]);
    const read = (a) => readRow(factor, [1, a], sigma, bound, delta);
    const here = read(x), along = Array.from({ length: 121 }, (_, i) => -REACH + i * REACH / 60).map((a) => [a, read(a)]);
    for (const name of ["ridge", "forward", "leverage", "radius", "ridgeLow", "ridgeHigh", "forwardLow", "forwardHigh"]) put(this.panel, name, here[name]);
    note(this.panel, "forward", `keeps ${percent(1 / (1 + here.leverage))} of ridge's`);
    note(this.panel, "leverage", here.leverage > 1 ? "far from the rows" : here.leverage > 0.2 ? "somewhat new" : "well known");
    this.drawRows(state, here, along);
    this.drawShare(x, here, along);
    this.drawSet(state, factor, here);
    this.plot.setAttribute("aria-valuenow", x);
    this.plot.setAttribute("aria-valuetext", `x ${words(x)}: ridge ${words(here.ridge)}, forward ${words(here.forward)}, leverage ${words(here.leverage)}; ${rows.length} rows`);
  },

  drawRows({ rows, x }, here, along) {
    const frame = this.frame = chart(this.plot, { height: this.plot.clientWidth < 500 ? 314 : 394, room: { bottom: 24 }, label: "Rows, both predictions and their intervals",
      across: { low: -REACH, high: REACH }, up: { low: -REACH, high: REACH, name: "y" } });
    const edges = (name) => ["Low", "High"].map((end) => line(frame, along.map(([a, each]) => [a, each[name + end]]), `edge ${name}`));
    frame.inside.append(
      band(frame, along.map(([a, each]) => [a, each.ridgeLow, each.ridgeHigh]), "ridge"), band(frame, along.map(([a, each]) => [a, each.forwardLow, each.forwardHigh]), "forward"),
      ...edges("ridge"), ...edges("forward"), rule(frame, [x, -REACH], [x, REACH], "guide"),
      line(frame, along.map(([a, each]) => [a, each.ridge]), "ridge"), line(frame, along.map(([a, each]) => [a, each.forward]), "forward"),
      ...rows.map(([a, b], i) => disc(frame, a, b, 5, "row", shape("title", {}, `row ${i + 1}: x ${a}, y ${b}`))),
      rule(frame, [x - 0.03, here.ridgeLow], [x - 0.03, here.ridgeHigh], "whisker ridge"), rule(frame, [x + 0.03, here.forwardLow], [x + 0.03, here.forwardHigh], "whisker forward"),
      disc(frame, x, here.ridge, 7, "ridge"), disc(frame, x, here.forward, 7, "forward"));
    if (this.pen !== null) frame.inside.append(rule(frame, [x - 0.15, this.pen], [x + 0.15, this.pen], "pen"), rule(frame, [x, this.pen - 0.15], [x, this.pen + 0.15], "pen"));
  },

  // By how much forward is drawn to 0: h = q/(1 + q), between 0 and 1.
  drawShare(x, here, along) {
    const share = (each) => each.leverage / (1 + each.leverage);
    const frame = chart(this.panel.querySelector(".strip"), { height: 118, label: "How much of ridge's prediction forward takes away, at each x",
      across: { low: -REACH, high: REACH, name: "x of the new row" }, up: { low: 0, high: 1, ticks: [0, 1], show: percent, name: "taken away by forward" } });
    frame.inside.append(band(frame, along.map(([a, each]) => [a, 0, share(each)]), "forward"), rule(frame, [x, 0], [x, 1], "guide"), disc(frame, x, share(here), 5, "forward"));
  },

  drawSet({ x, bound }, factor, here) {
    const around = ellipse(factor, here.radius), [a, b] = factor.coefficients();
    const moved = factor.copy();
    moved.absorb([1, x], [0]); // forward knows x, not yet its target
    const [fa, fb] = moved.coefficients();
    const most = Math.max(bound, ...around.flat().map(Math.abs)) * 1.08;
    const frame = chart(this.panel.querySelector(".set"), { square: true, height: 300, label: "The confidence set of both coefficients", room: { bottom: 38 },
      across: { low: -most, high: most, name: "constant" }, up: { low: -most, high: most, name: "slope" } });
    frame.inside.append(shape("path", { class: "band ridge", d: `${path(around.map(([p, q]) => [frame.x(p), frame.y(q)]))}Z` }),
      shape("path", { class: "line ridge", d: `${path(around.map(([p, q]) => [frame.x(p), frame.y(q)]))}Z` }),
      shape("ellipse", { class: "bound", cx: frame.x(0), cy: frame.y(0), rx: frame.x(bound) - frame.x(0), ry: frame.y(0) - frame.y(bound) }),
      rule(frame, [a, b], [fa, fb], "guide"), disc(frame, a, b, 6, "ridge"), disc(frame, fa, fb, 6, "forward"));
  },

  python({ rows, x, lam, sigma, bound, delta }) {
    return `import numpy as np
from onward import ForwardRegressor, RidgeRegressor

rows = ${pythonList(rows)}   # x and y of each
new = np.array([[1.0, ${pythonNumber(x)}]])              # the constant is a feature like the other
known = {"delta": ${delta}, "sigma": ${pythonNumber(sigma)}, "theta_bound": ${pythonNumber(bound)}}

for name, learner in (("ridge", RidgeRegressor), ("forward", ForwardRegressor)):
    model = learner(lam=${pythonNumber(lam)}, fit_intercept=False)
${rows.length ? "    for x, y in rows:\n        model.learn_one([1.0, x], y)\n" : "    model.partial_fit(np.zeros((1, 2)), np.zeros(1))   # a row of zeros: nothing is learned yet\n"}    low, high = model.interval(new, **known)[0]
    print(f"{name} {float(model.predict(new)[0])!r}")
    print(f"{name}Low {float(low)!r}")
    print(f"{name}High {float(high)!r}")
print(f"leverage {float(model.leverage(new)[0])!r}")
print(f"radius {float(model.confidence_set(**known).radius)!r}")
`;
  },
};
