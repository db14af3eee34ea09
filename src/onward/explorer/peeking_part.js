// Peeking: a test watched day by day, with the t interval of one look and the anytime interval; and many such tests.
// When the days of a test stop playing.
const STOPS = { fixedDay: "when the t interval says “significant”", anytimeDay: "when the anytime interval says so", never: "never before the last day" };

const peekingPart = {
  id: "peeking",
  fields: {
    effect: oneOf([0, 0.05, 0.1, 0.2, 0.3, 0.5], 0),
    visitors: oneOf([10, 20, 50, 100], 20),
    days: oneOf([14, 30, 60, 90], 60),
    delta: oneOf([0.01, 0.05, 0.1], 0.05),
    tests: oneOf([50, 100, 200, 400], 200),
    tuned: oneOf([100, 400, 1000, 4000], 400),
    stop: oneOf(Object.keys(STOPS), "fixedDay"),
    test: whole(0, 399, 1),
    day: whole(1, 90, 60),
    seed: whole(0, 9999, 0),
  },

  mount(panel, change) {
    this.panel = panel;
    this.change = change;
    const { fields } = this;
    this.controls = {
      effect: slider("True effect", fields.effect, (value) => (value ? `${words(value)} σ` : "none: an A/A test"), (effect) => change({ effect })),
      visitors: slider("Visitors a day", fields.visitors, words, (visitors) => change({ visitors })),
      days: slider("Days", fields.days, words, (days) => change({ days, day: days })),
      delta: slider("Level δ", fields.delta, words, (delta) => change({ delta })),
      tests: slider("Tests", fields.tests, words, (tests) => change({ tests, test: Math.min(this.state.test, tests - 1) })),
      tuned: slider("Anytime intervals tuned for", fields.tuned, (value) => `${words(value)} visitors`, (tuned) => change({ tuned })),
    };
    panel.querySelector(".controls").append(...Object.values(this.controls));
    this.controls.stop = picker("Stop", fields.stop, Object.values(STOPS), (stop) => change({ stop }));
    panel.querySelector(".buttons").before(this.controls.stop);
    this.go = button("Play the days", () => this.playDays());
    panel.querySelector(".buttons").append(this.go, button("‹ Day", () => this.toDay(this.day() - 1), { "aria-label": "One day back" }), button("Day ›", () => this.toDay(this.day() + 1), { "aria-label": "One day on" }),
      button("Next test", () => this.nextTest()), button("New tests", () => change({ seed: (this.state.seed + 1) % 10000 })));
    this.dayInput = element("input", { type: "range", min: 1, "aria-label": "Day", oninput: () => this.toDay(+this.dayInput.value) });
    panel.querySelector(".days").append(this.dayInput);
    panel.querySelector(".tiles").append(tile("estimate", "Effect so far", "B less A"), tile("fixed", "t interval, ±", "of one look", "ridge"), tile("anytime", "Anytime interval, ±", "of all looks", "forward"), tile("pvalue", "Anytime p-value", "whenever you stop"));
    panel.querySelector(".counts").append(tile("fixedAlarms", "Stopped by the t interval", "", "ridge"), tile("anytimeAlarms", "Stopped by the anytime interval", "", "forward"));
    for (const name of ["fixedAlarms", "anytimeAlarms"]) panel.querySelector(`[data-name=${name}]`).after(element("small", { "data-note": name }));
    this.listen(change);
  },

  listen(change) {
    const all = this.panel.querySelector(".all-tests");
    const pick = (event) => {
      const at = event.target.closest("[data-test]");
      if (at) change({ test: +at.dataset.test });
    };
    all.addEventListener("click", pick);
    all.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -20, ArrowDown: 20 }[event.key];
      if (!by) return;
      event.preventDefault();
      change({ test: Math.max(0, Math.min(this.state.tests - 1, this.state.test + by)) });
    });
  },

  // The day on show: an address may name a later one than the last.
  day() {
    return Math.min(this.state.day, this.state.days);
  },

  shown() {
    return this.found[this.state.test] ?? playTest(this.state, this.state.test);
  },

  toDay(day) {
    this.playing?.stop();
    this.change({ day: Math.max(1, Math.min(this.state.days, day)) });
  },

  nextTest() {
    this.change({ test: (this.state.test + 1) % this.state.tests, day: calm() ? this.state.days : 1 });
    if (!calm()) this.playDays();
  },

  // Day after day, until the one on which you would stop; from the first one if the last is shown.
  playDays() {
    if (this.playing?.running()) {
      this.playing.stop();
      this.draw(this.state);
      return;
    }
    let day = this.day() === this.state.days ? 1 : this.day();
    const stops = () => this.shown()[this.state.stop] === day;
    this.playing = play(() => {
      day += 1;
      this.change({ day: Math.min(day, this.state.days) });
      return day < this.state.days && !stops();
    }, calm() ? 200 : 70, () => this.draw(this.state));
    this.change({ day });
  },

  draw(state) {
    const before = this.state;
    this.state = state;
    for (const [name, control] of Object.entries(this.controls)) control.set(state[name]);
    const day = this.day();
    this.dayInput.max = state.days;
    this.dayInput.value = day;
    this.dayInput.setAttribute("aria-valuetext", `day ${day} of ${state.days}`);
    this.go.textContent = this.playing?.running() ? "Pause" : "Play the days";
    const made = ["effect", "visitors", "days", "delta", "tests", "tuned", "seed"];
    if (!before || made.some((name) => before[name] !== state[name])) this.start(before !== undefined);
    this.drawTest(state, this.shown(), day);
    this.drawCounts();
  },

  start(moving) {
    this.making?.stop();
    this.found = [];
    const some = () => {
      const end = Math.min(this.state.tests, this.found.length + 10);
      while (this.found.length < end) this.found.push(playTest(this.state, this.found.length));
      return this.found.length < this.state.tests;
    };
    if (!moving || calm()) while (some());
    else this.making = play(() => {
      const more = some();
      this.drawCounts();
      return more;
    }, 15);
  },

  drawTest({ days, delta, effect, test }, { looks, fixedDay, anytimeDay }, day) {
    const { panel } = this, now = looks[day - 1];
    for (const name of ["estimate", "fixed", "anytime"]) put(panel, name, now[name]);
    const p = Math.exp(-Math.max(now.logE, 0));
    put(panel, "pvalue", p);
    const said = (name, on) => (on && on <= day ? `${name} said “significant” on day ${on} for the first time.` : `${name} has not said “significant”.`);
    panel.querySelector(".verdict").textContent = `Test ${test + 1}, day ${day}: ${said("The t interval", fixedDay)} ${said("The anytime interval", anytimeDay)}${effect ? "" : " There is nothing to find."}`;
    const most = Math.max(4 * looks[looks.length - 1].error, 1.25 * Math.abs(now.estimate), ...looks.slice(Math.floor(looks.length / 6)).map((look) => Math.abs(look.estimate) + look.fixed)) * 1.05;
    const frame = chart(panel.querySelector(".plot"), { height: panel.clientWidth < 600 ? 270 : 330, label: "The effect with both intervals, day by day",
      across: { low: 1, high: days * 1.015, ticks: [1, ...niceTicks(1, days, 6).filter((each) => each > 2)], name: "day" }, up: { low: -most, high: most, name: "effect, B less A" } });
    const until = looks.slice(0, day), far = 50 * most;
    const ends = (name) => until.map((look, i) => [i + 1, look.estimate - Math.min(look[name], far), look.estimate + Math.min(look[name], far)]);
    const edges = (name, colour) => [1, 2].map((side) => line(frame, ends(name).map((each) => [each[0], each[side]]), colour));
    frame.inside.append(band(frame, ends("anytime"), "forward"), band(frame, ends("fixed"), "ridge"), rule(frame, [1, 0], [days, 0], "zero"),
      ...edges("anytime", "forward"), ...edges("fixed", "ridge"), line(frame, until.map((look, i) => [i + 1, look.estimate]), "estimate"), disc(frame, day, now.estimate, 5, "row"));
    if (effect) frame.inside.append(rule(frame, [1, effect], [days, effect], "truth"), shape("text", { class: "mark you", x: frame.right - 6, y: frame.y(effect) - 6, "text-anchor": "end" }, "true effect"));
    for (const [on, name] of [[fixedDay, "ridge"], [anytimeDay, "forward"]]) {
      if (on && on <= day) frame.inside.append(rule(frame, [on, -most], [on, most], `stop ${name}`), shape("text", { class: `mark ${name}`, x: frame.x(on) + (on > days * 0.8 ? -4 : 4), y: name === "ridge" ? frame.bottom - 6 : frame.bottom - 22, "text-anchor": on > days * 0.8 ? "end" : "start" }, `stopped, day ${on}`));
    }
    this.panel.dataset.delta = delta;
  },

  drawCounts() {
    const { panel, state, found } = this, n = found.length;
    const stopped = { fixedAlarms: found.filter((each) => each.fixedDay).length, anytimeAlarms: found.filter((each) => each.anytimeDay).length };
    for (const [name, count] of Object.entries(stopped)) {
      put(panel, name, count, `${percent(count / n)}`);
      note(panel, name, `${count} of ${n} tests${state.effect ? " found it" : `: false alarms; ${percent(state.delta)} were promised`}`);
    }
    const each = (i) => {
      const { fixedDay, anytimeDay } = found[i] ?? {};
      const kind = !found[i] ? "none" : anytimeDay ? "forward" : fixedDay ? "ridge" : "quiet";
      const mark = { forward: "●", ridge: "○", quiet: "·", none: "" }[kind];
      return element("button", { type: "button", class: `test ${kind}`, "data-test": i, tabindex: i === state.test ? 0 : -1, "aria-pressed": i === state.test, "aria-label": `Test ${i + 1}: ${fixedDay ? `t stops on day ${fixedDay}` : "t never stops"}, ${anytimeDay ? `anytime on day ${anytimeDay}` : "anytime never"}` }, mark);
    };
    const all = panel.querySelector(".all-tests"), had = all.contains(document.activeElement);
    all.replaceChildren(...Array.from({ length: state.tests }, (_, i) => each(i)));
    if (had) all.querySelector('[tabindex="0"]')?.focus();
    const frame = chart(panel.querySelector(".shares"), { height: 190, label: "Share of tests that were stopped, by day", room: { right: 14 },
      across: { low: 1, high: state.days, ticks: [1, ...niceTicks(1, state.days, 5).filter((at) => at > 2)], name: "day" }, up: { low: 0, high: Math.max(0.2, 1.15 * stopped.fixedAlarms / n, 1.15 * stopped.anytimeAlarms / n), show: percent, name: "tests stopped so far" } });
    const share = (name) => Array.from({ length: state.days }, (_, i) => [i + 1, found.filter((one) => one[name] && one[name] <= i + 1).length / n]);
    if (!state.effect) frame.inside.append(rule(frame, [1, state.delta], [state.days, state.delta], "zero"));
    frame.inside.append(line(frame, share("fixedDay"), "thick ridge"), line(frame, share("anytimeDay"), "thick forward"));
    panel.dataset.ready = n === state.tests;
  },

  python({ effect, visitors, days, delta, tests, tuned, test, day, seed }) {
    return `import numpy as np
from scipy.stats import t as student
from onward import RidgeRegressor

def watch(test):
    """Look at the end of every day: estimate, t interval and anytime interval (half their widths), p-value."""
    rng = np.random.default_rng(np.random.SeedSequence(${seed}, spawn_key=(test,)))
    model, looks = RidgeRegressor(), []
    for day in range(${days}):
        treated = (np.arange(${visitors}) + day * ${visitors}) % 2.0        # visitors alternate between A and B
        spent = ${pythonNumber(effect)} * treated + rng.standard_normal(${visitors})
        model.partial_fit(treated[:, None], spent)
        effect = model.contrast([1.0], delta=${delta}, tuned_for=${tuned})
        fixed = student.ppf(1 - ${delta} / 2, effect.rows - 2) * effect.standard_error
        looks.append((effect.estimate, fixed, effect.upper - effect.estimate, effect.p_value))
    return np.array(looks)

looks = watch(${test})[${Math.min(day, days)} - 1]
for name, value in zip(("estimate", "fixed", "anytime", "pvalue"), looks):
    print(f"{name} {float(value)!r}")
everyone = [watch(test) for test in range(${tests})]       # a millisecond or so for each look
for name, column in (("fixedAlarms", 1), ("anytimeAlarms", 2)):
    print(f"{name} {sum(bool(np.any(np.abs(each[:, 0]) > each[:, column])) for each in everyone)}")
`;
  },
};
