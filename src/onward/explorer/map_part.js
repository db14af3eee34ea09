// Noise × λ: who wins, exactly in the mean; and fifty runs of one cell beside the rule of one line and the bounds.
const MAP = { d: 5, rounds: 200, runs: 50, delta: 0.05, bound: 1 };

const PAR = 1.05; // within this ratio neither wins

const mapPart = {
  id: "map",
  fields: {
    sigma: oneOf([10, 3, 1, 0.3, 0.1, 0.03, 0.01], 1),
    lam: oneOf([1e-4, 1e-3, 0.01, 0.1, 1, 10, 100], 0.01),
    bounds: oneOf([0, 1], 0),
    seed: whole(0, 9999, 0),
  },

  mount(panel, change) {
    this.panel = panel;
    this.change = change;
    this.grid = panel.querySelector(".map");
    this.done = 0;
    const box = element("input", { type: "checkbox", onchange: () => change({ bounds: box.checked ? 1 : 0 }) });
    this.box = box;
    panel.querySelector(".buttons").append(button("Play again", () => this.start(true)), button("New worlds", () => change({ seed: (this.state.seed + 1) % 10000 })),
      element("label", { class: "check" }, box, " show the bounds"));
    panel.querySelector(".tiles").append(
      tile("ridge", "Ridge's regret, mean of the runs", "exact mean", "ridge"), tile("forward", "Forward's regret, mean of the runs", "exact mean", "forward"),
      tile("wins", "Runs that forward wins", "of 50"), tile("rule", "Rounds the rule gives to forward", "(xᵀθ*)² < (2 + q)σ²"),
      tile("ridgeBound", "Ridge's bound", "mean of the runs, 95% sure", "ridge"), tile("forwardBound", "Forward's bound", "mean of the runs, 95% sure", "forward"));
    this.layGrid();
  },

  layGrid() {
    const { sigma, lam } = this.fields;
    const cell = (s, l) => button("", () => this.change({ sigma: s, lam: l }), { class: "cell", role: "gridcell", "data-sigma": s, "data-lam": l });
    this.cells = sigma.choices.map((s) => lam.choices.map((l) => cell(s, l)));
    this.grid.append(
      ...sigma.choices.map((s, i) => element("div", { role: "row" }, element("span", { role: "rowheader" }, words(s)), ...this.cells[i])),
      element("div", { role: "row" }, element("span", { role: "columnheader" }, "σ / λ"), ...lam.choices.map((l) => element("span", { role: "columnheader" }, words(l)))));
    this.grid.addEventListener("keydown", (event) => {
      const [i, j] = [sigma.choices.indexOf(this.state.sigma), lam.choices.indexOf(this.state.lam)];
      const to = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1] }[event.key];
      if (!to || !this.cells[to[0]]?.[to[1]]) return;
      event.preventDefault();
      this.change({ sigma: sigma.choices[to[0]], lam: lam.choices[to[1]] });
      this.cells[to[0]][to[1]].focus();
    });
  },

  draw(state) {
    const before = this.state;
    this.state = state;
    this.box.checked = state.bounds === 1;
    if (before?.seed !== state.seed) {
      this.problems = Array.from({ length: MAP.runs }, (_, run) => drawProblem(state.seed, run, MAP.d, MAP.rounds));
      this.colour();
    }
    const { sigma, lam } = this.fields;
    this.cells.forEach((row, i) => row.forEach((cell, j) => {
      const here = sigma.choices[i] === state.sigma && lam.choices[j] === state.lam;
      cell.tabIndex = here ? 0 : -1;
      cell.setAttribute("aria-selected", here);
    }));
    const same = before && ["seed", "sigma", "lam"].every((name) => before[name] === state[name]);
    if (same) this.drawRuns(); else this.start(before !== undefined);
  },

  // The exact mean of both regrets in each cell, over the rows of the fifty runs.
  colour() {
    const { sigma, lam } = this.fields;
    lam.choices.forEach((l, j) => {
      const each = this.problems.map((problem) => expectedRegrets(problem, sigma.choices, l));
      sigma.choices.forEach((s, i) => {
        const mean = (name) => each.reduce((sum, cells) => sum + cells[i][name], 0) / MAP.runs;
        const [ridge, forward] = [mean("ridge"), mean("forward")];
        const cell = this.cells[i][j], ratio = ridge / forward, times = Math.max(ratio, 1 / ratio);
        const wins = times < PAR ? "neither" : ratio > 1 ? "forward" : "ridge";
        cell.className = `cell ${wins}`;
        cell.style.setProperty("--share", Math.min(1, Math.log2(times) / 1.6 + (wins === "neither" ? 0 : 0.12)).toFixed(3));
        cell.textContent = wins === "neither" ? "=" : `${times < 9.95 ? times.toFixed(1) : Math.round(times)}×`;
        cell.dataset.ridge = ridge;
        cell.dataset.forward = forward;
        cell.setAttribute("aria-label", `noise ${words(s)}, λ ${words(l)}: ${wins === "neither" ? "on par" : `${wins} wins, the other's regret is ${words(times, 2)} times as large`}`);
      });
    });
  },

  start(moving) {
    this.playing?.stop();
    this.runs = [];
    const { sigma, lam } = this.state;
    const one = () => {
      this.runs.push(playRun(this.problems[this.runs.length], sigma, lam, MAP));
      return this.runs.length < MAP.runs;
    };
    if (!moving || calm()) {
      while (one());
      this.drawRuns();
    } else {
      this.playing = play(() => {
        const more = one();
        this.drawRuns();
        return more;
      }, 30);
    }
  },

  drawRuns() {
    const { runs, panel, state } = this, last = MAP.rounds - 1, count = runs.length;
    const mean = (name, t = last) => runs.reduce((sum, run) => sum + run[name][t], 0) / count;
    for (const name of ["ridge", "forward", "ridgeBound", "forwardBound"]) put(panel, name, mean(name));
    const wins = runs.filter((run) => run.forward[last] < run.ridge[last]).length;
    put(panel, "wins", wins, `${wins} of ${count}`);
    note(panel, "wins", count < MAP.runs ? "still playing …" : wins * 2 > count ? "more often than not" : "not even half");
    const share = runs.reduce((sum, run) => sum + run.rule, 0) / count;
    put(panel, "rule", share, percent(share));
    const cell = this.grid.querySelector("[aria-selected=true]");
    for (const name of ["ridge", "forward"]) note(panel, name, `over all noise: ${words(+cell.dataset[name])}, exactly`);
    const times = cell.dataset.ridge / cell.dataset.forward;
    panel.querySelector(".verdict").textContent = `σ = ${words(state.sigma)}, λ = ${words(state.lam)}: ${Math.max(times, 1 / times) < PAR ? "the two are on par" : times > 1 ? `forward wins; ridge loses ${words(times, 2)} times as much` : `ridge wins; forward loses ${words(1 / times, 2)} times as much`} in the mean.`;
    const unit = 0.2 * mean("forward");
    const names = state.bounds ? ["ridgeBound", "forwardBound"] : [];
    const tops = runs.flatMap((run) => [run.ridge[last], run.forward[last]]).sort((a, b) => a - b);
    const high = Math.max(tops[Math.floor(0.97 * tops.length)], ...names.map((name) => mean(name))) * 1.15, low = Math.min(0, tops[0]);
    const decades = Array.from({ length: 12 }, (_, i) => 10 ** (Math.floor(Math.log10(unit)) + i));
    const within = (steps) => decades.flatMap((each) => steps.map((step) => Number((step * each).toPrecision(3)))).filter((each) => each >= unit && each < high);
    const powers = within([1]).length > 2 ? within([1]) : within([1, 2, 5]);
    const frame = chart(panel.querySelector(".plot"), { height: panel.clientWidth < 600 ? 280 : 340, label: `Regret of both learners in ${count} runs`, room: { left: 54 },
      across: { low: 1, high: MAP.rounds, ticks: [1, 50, 100, 150, 200], name: "rows seen" }, up: { low, high, scale: asinhScale(unit), ticks: [0, ...powers], name: "regret: loss beyond that of the truth" } });
    const points = (values) => Array.from({ length: 51 }, (_, i) => Math.min(4 * i, last)).map((t) => [t + 1, values(t)]);
    for (const name of ["ridge", "forward"]) {
      frame.inside.append(shape("path", { class: `line thin ${name}`, d: runs.map((run) => path(points((t) => run[name][t]).map(([a, b]) => [frame.x(a), frame.y(b)]))).join("") }));
    }
    for (const name of ["ridge", "forward"]) frame.inside.append(line(frame, points((t) => mean(name, t)), `thick ${name}`));
    for (const name of names) frame.inside.append(line(frame, points((t) => mean(name, t)), `dashed ${name.replace("Bound", "")}`));
    this.panel.dataset.ready = count === MAP.runs;
  },

  python({ sigma, lam, seed }) {
    return `import numpy as np
from onward import bounds
from onward.core.trace import Trace

sigma, lam, rounds, d, runs = ${pythonNumber(sigma)}, ${lam === 1e-4 ? "1e-4" : pythonNumber(lam)}, ${MAP.rounds}, ${MAP.d}, ${MAP.runs}
known = {"theta_bound": 1.0, "sigma": sigma, "delta": ${MAP.delta}}
regret, exact, bound, rule = np.zeros((runs, 2)), np.zeros((runs, 2)), np.zeros((runs, 2)), np.zeros(runs)
for run in range(runs):
    rng = np.random.default_rng(np.random.SeedSequence(${seed}, spawn_key=(run,)))
    theta, X, noise = rng.standard_normal(d), rng.standard_normal((rounds, d)), rng.standard_normal(rounds)
    theta /= np.linalg.norm(theta)
    trace = Trace.of(X, X @ theta + sigma * noise, lam)
    for i, prediction in enumerate((trace.p, trace.forward)):        # ridge, forward
        error = prediction - X @ theta
        regret[run, i] = np.sum(error * (error - 2 * sigma * noise))
    exact[run] = (bounds.ridge_expected_regret_to_truth(X, theta, lam=lam, sigma=sigma)[-1],
                  bounds.forward_expected_regret_to_truth(X, theta, lam=lam, sigma=sigma)[-1])
    bound[run] = (bounds.ridge_regret_to_truth_sharp_along(trace, **known)[-1],
                  bounds.forward_regret_to_truth_sharp_along(trace, **known)[-1])
    rule[run] = bounds.forward_beats_ridge(X @ theta, leverage=trace.q, sigma=sigma).mean()

for i, name in enumerate(("ridge", "forward")):
    print(f"{name} {float(regret[:, i].mean())!r}")
    print(f"{name}Exact {float(exact[:, i].mean())!r}")
    print(f"{name}Bound {float(bound[:, i].mean())!r}")
print(f"wins {int(np.sum(regret[:, 1] < regret[:, 0]))}")
print(f"rule {float(rule.mean())!r}")
`;
  },
};
