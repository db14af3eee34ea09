// Decide: ten arms, you against four policies on the same noise, back and forth; and why each takes what it takes.
const ROUNDS = 100;
const WORLDS = { fixed: "ten arms, always the same", fresh: "ten new arms each round", drifting: "arms that drift", turning: "the same arms, but the truth turns" };
const digits = { initial: "", write: (text) => text, read: (text) => (/^\d*$/.test(text) && text.length <= ROUNDS ? text : undefined) };

const decidePart = {
  id: "decide",
  fields: {
    world: oneOf(Object.keys(WORLDS), "fixed"),
    sigma: oneOf([0.1, 0.3, 0.5, 1], 0.5),
    lam: oneOf([0.01, 0.1, 1], 1),
    epsilon: oneOf([0.01, 0.05, 0.1, 0.2], 0.1),
    who: oneOf(["you", ...POLICIES.map((each) => each.kind)], "you"),
    reveal: oneOf([0, 1], 0),
    choices: digits,
    at: whole(0, ROUNDS, 0),
    seed: whole(0, 9999, 0),
  },
  delta: 0.05,

  mount(panel, change) {
    this.panel = panel;
    this.change = change;
    const { fields } = this;
    this.controls = {
      world: picker("World", fields.world, Object.values(WORLDS), (world) => change({ world, choices: "", at: 0 })),
      who: picker("Look over the shoulder of", fields.who, ["you (OFUL on your rewards)", ...POLICIES.map((each) => each.name)], (who) => change({ who })),
      sigma: slider("Noise σ", fields.sigma, words, (sigma) => change({ sigma })),
      lam: slider("Regularisation λ", fields.lam, words, (lam) => change({ lam })),
      epsilon: slider("ε of ε-greedy", fields.epsilon, words, (epsilon) => change({ epsilon })),
    };
    const { world, who, ...rest } = this.controls;
    panel.querySelector(".plot").before(world);
    panel.querySelector(".because").before(who);
    panel.querySelector(".controls").append(...Object.values(rest));
    this.back = button("‹ Back", () => change({ at: this.state.at - 1 }));
    this.forth = button("Forth ›", () => change({ at: this.state.at + 1 }));
    this.advice = [["Let OFUL choose", 1], ["… ten times", 10], ["… to the end", ROUNDS]].map(([text, rounds]) => button(text, () => this.advise(rounds)));
    this.reveal = element("input", { type: "checkbox", onchange: () => change({ reveal: this.reveal.checked ? 1 : 0 }) });
    panel.querySelector(".buttons").append(this.back, this.forth, ...this.advice,
      button("New world", () => change({ seed: (this.state.seed + 1) % 10000, choices: "", at: 0 })), element("label", { class: "check" }, this.reveal, " show the truth"));
    panel.querySelector(".tiles").append(tile("you", "You", "regret so far", "you"), ...POLICIES.map(({ kind, name }) => tile(kind, name, "regret so far", kind)));
    document.addEventListener("keydown", (event) => { // wherever the focus is: digits work at once
      if (panel.hidden || event.target.closest("input, select, pre") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^\d$/.test(event.key)) this.take((+event.key + 9) % 10);
      else if (event.key === "[") this.back.click();
      else if (event.key === "]") this.forth.click();
    });
  },

  // Take an arm in the round that is shown; whatever you did after it is forgotten.
  take(arm) {
    const { choices, at } = this.state;
    if (at < ROUNDS) this.change({ choices: `${choices.slice(0, at)}${arm}`, at: at + 1 });
  },

  // Let OFUL choose for you, on what you have learned.
  advise(rounds) {
    let { choices, at } = this.state;
    const end = Math.min(ROUNDS, at + rounds);
    choices = choices.slice(0, at);
    while (choices.length < end) {
      const { last } = playYours([...choices].map(Number), this.settings(), this.world);
      choices += largest(last.read.map((each) => each.index))[0];
    }
    this.change({ choices, at: end });
  },

  settings() {
    const { lam, sigma, epsilon, seed } = this.state;
    return { lam, sigma, epsilon, seed, bound: 1, delta: this.delta };
  },

  draw(state) {
    const before = this.state;
    const at = Math.min(state.at, state.choices.length);
    this.state = { ...state, at };
    for (const [name, control] of Object.entries(this.controls)) control.set(state[name]);
    this.reveal.checked = state.reveal === 1;
    for (const each of this.panel.querySelectorAll(".told")) each.hidden = !state.reveal;
    this.back.disabled = at === 0;
    this.forth.disabled = at === state.choices.length;
    for (const each of this.advice) each.disabled = at === ROUNDS;
    if (!before || ["world", "sigma", "lam", "epsilon", "seed"].some((name) => before[name] !== state[name])) {
      this.world = drawWorld({ ...state, rounds: ROUNDS });
      this.games = Object.fromEntries(POLICIES.map(({ kind }) => [kind, playPolicy(kind, this.settings(), this.world)]));
    }
    this.yours = playYours([...state.choices].map(Number), this.settings(), this.world);
    const total = (game) => (at ? game[at - 1].total : 0);
    put(this.panel, "you", total(this.yours.played));
    for (const { kind } of POLICIES) put(this.panel, kind, total(this.games[kind]));
    this.drawPlane();
    this.drawRegret();
    this.drawWhy();
  },

  // Of the one whose shoulder is looked over: the state before the round shown, what was read there, and what is taken.
  moment() {
    const { at, who } = this.state;
    if (who === "you") return this.yours.played[at] ?? { ...this.yours.last, chosen: null };
    return this.games[who][at] ?? { before: null, read: [], chosen: null };
  },

  drawPlane() {
    const { at, who, reveal } = this.state, round = this.world[Math.min(at, ROUNDS - 1)];
    const { before, chosen } = this.moment();
    const last = at ? this.world[at - 1] : null, took = at ? +this.state.choices[at - 1] : null;
    const own = who, held = document.activeElement?.dataset.arm; // who holds the focus keeps it
    const frame = chart(this.panel.querySelector(".plot"), { square: true, height: 440, label: `Ten arms and the confidence set, round ${at + 1}`, room: { left: 30, bottom: 26 },
      across: { low: -1.7, high: 1.7, ticks: [-1, 0, 1] }, up: { low: -1.7, high: 1.7, ticks: [-1, 0, 1] } });
    if (held) queueMicrotask(() => this.panel.querySelector(`[data-arm="${held}"]`)?.focus({ preventScroll: true }));
    if (before) {
      const radius = jointRadius(this.state.sigma, this.delta, before.gain(), before.lam, 1);
      const around = path(ellipse(before, radius).map(([a, b]) => [frame.x(a), frame.y(b)]));
      frame.inside.append(shape("path", { class: `band ${own}`, d: `${around}Z` }), shape("path", { class: `line ${own}`, d: `${around}Z` }));
      const [a, b] = before.coefficients();
      frame.inside.append(rule(frame, [0, 0], [a, b], `arrow ${own}`), disc(frame, a, b, 4, own));
    }
    frame.inside.append(shape("circle", { class: "bound", cx: frame.x(0), cy: frame.y(0), r: frame.x(1) - frame.x(0) }));
    if (reveal) frame.inside.append(shape("text", { class: "star", x: frame.x(round.theta[0]), y: frame.y(round.theta[1]) + 7, "text-anchor": "middle" }, "★"));
    const exact = round.actions.map(([a, b]) => [frame.x(a), frame.y(b)]), places = apart(exact, 27);
    exact.forEach(([cx, cy], arm) => {
      if (Math.hypot(cx - places[arm][0], cy - places[arm][1]) > 1) frame.inside.append(shape("line", { class: "leader", x1: cx, y1: cy, x2: places[arm][0], y2: places[arm][1] }), shape("circle", { class: "pin", cx, cy, r: 2.5 }));
    });
    places.forEach(([cx, cy], arm) => {
      const best = reveal && round.regrets[arm] === 0;
      const act = (event) => { if (event.type === "click" || event.key === "Enter" || event.key === " ") { event.preventDefault(); this.take(arm); } };
      frame.inside.append(shape("g", { class: `arm${arm === chosen ? ` chosen ${own}` : ""}${best ? " best" : ""}`, tabindex: at < ROUNDS ? 0 : -1, role: "button", "data-arm": arm, "aria-label": `Arm ${arm + 1}${best ? ", the best" : ""}${arm === chosen ? ", taken" : ""}: take it`, onclick: act, onkeydown: act },
        shape("circle", { class: "hit", cx, cy, r: 15 }), shape("circle", { class: "body", cx, cy, r: 13 }),
        shape("text", { x: cx, y: cy + 4.5, "text-anchor": "middle" }, arm + 1)));
    });
    const paid = last ? last.means[took] + last.noise : null;
    this.panel.querySelector(".verdict").textContent = at === ROUNDS ? `All ${ROUNDS} rounds are played. Step back, or begin a new world.`
      : last ? `Round ${at + 1} of ${ROUNDS}. In round ${at} you took arm ${took + 1} and got ${words(paid)}${reveal ? `; on average it pays ${words(last.means[took])}, the best ${words(Math.max(...last.means))}` : ""}.`
      : `Round 1 of ${ROUNDS}: which arm do you take? Nobody knows anything yet.`;
  },

  drawRegret() {
    const { at } = this.state;
    const lines = [...POLICIES.map(({ kind, name }) => [kind, name, this.games[kind]]), ["you", "you", this.yours.played]];
    const most = Math.max(1, ...lines.map(([, , game]) => (at ? game[at - 1].total : 0))) * 1.1, end = Math.max(20, at);
    const frame = chart(this.panel.querySelector(".regret"), { height: 220, label: "Regret so far of you and of each policy", room: { right: 64 },
      across: { low: 0, high: end, name: "rounds" }, up: { low: 0, high: most, name: "regret so far" } });
    const places = lines.map(([kind, name, game]) => ({ kind, name, y: frame.y(at ? game[at - 1].total : 0) })).sort((a, b) => a.y - b.y);
    places.forEach((each, i) => { each.y = i && each.y < places[i - 1].y + 13 ? places[i - 1].y + 13 : each.y; });
    const over = Math.max(0, places.at(-1).y + 4 - frame.bottom);
    for (const [kind, , game] of lines) frame.inside.append(line(frame, [[0, 0], ...game.slice(0, at).map((each, i) => [i + 1, each.total])], `${kind}${kind === "you" ? " thick" : ""}`));
    if (at) for (const { kind, name, y } of places) frame.svg.append(shape("text", { class: `mark ${kind}`, x: frame.x(at) + 5, y: y - over + 4 }, name));
  },

  drawWhy() {
    const { at, who, reveal } = this.state, { read, chosen, explored } = this.moment();
    const name = who === "you" ? "OFUL, asked with what you know," : POLICIES.find((each) => each.kind === who).name;
    const best = read.length ? largest(read.map((each) => each.index))[0] : null;
    const says = best === null ? "All rounds are played: there is no arm to take. Step back to see why one was taken." : who === "greedy"
      ? (explored ? `${name} explores in this round: any arm, and it was arm ${chosen + 1}.` : `${name} takes the best estimate: arm ${chosen + 1}, ${words(read[chosen].estimate)}.`)
      : `${name} ${who === "you" ? "would take" : "takes"} arm ${best + 1}: estimate ${words(read[best].estimate)} ${read[best].width < 0 ? "−" : "+"} ${words(Math.abs(read[best].width))} ${who === "sampling" ? "by the sample drawn" : "for what is not known"} = ${words(read[best].index)}, the largest.`;
    this.panel.querySelector(".because").textContent = says;
    this.panel.querySelector(".why").hidden = best === null;
    const low = Math.min(0, ...read.map((each) => Math.min(each.estimate - Math.abs(each.width), each.index))), high = Math.max(0.5, ...read.map((each) => Math.max(each.index, each.estimate + Math.abs(each.width))));
    const place = (value) => 100 * (value - low) / (high - low);
    const bar = ({ estimate, width, index }) => {
      const track = element("span", { class: "track", "aria-hidden": "true" }), [from, to] = [Math.min(estimate, index), Math.max(estimate, index)];
      track.append(element("i", { class: `reach ${who}`, style: `left:${place(from)}%;width:${place(to) - place(from)}%` }), element("i", { class: "middle", style: `left:${place(estimate)}%` }), element("i", { class: "zero", style: `left:${place(0)}%` }));
      return width === 0 ? (track.querySelector(".reach").remove(), track) : track;
    };
    const round = this.world[Math.min(at, ROUNDS - 1)];
    const cell = (value, label) => element("td", { "data-name": label, "data-value": value }, words(value));
    const body = read.map((each, arm) => element("tr", { class: arm === (chosen ?? best) ? `taken ${who}` : null }, element("th", { scope: "row" }, element("span", { class: "long" }, "arm "), `${arm + 1}`, arm === (chosen ?? best) ? element("span", { class: "tick" }, chosen === null ? " ←" : " ✓") : null),
      element("td", { class: "bars" }, bar(each)), cell(each.estimate, `estimate${arm}`), cell(each.width, `width${arm}`), cell(each.index, `index${arm}`), reveal ? element("td", {}, words(round.means[arm])) : null));
    this.panel.querySelector(".why").replaceChildren(element("table", { class: "numbers why-table" },
      element("thead", {}, element("tr", {}, ...["", "estimate → index", "estimate", who === "sampling" ? "sample" : "width", "index", ...(reveal ? ["truth"] : [])].map((each) => element("th", { scope: "col" }, each)))), element("tbody", {}, ...body)));
  },

  python({ world, sigma, lam, epsilon, choices, at, seed }) {
    const seen = Math.min(at, choices.length);
    return `import numpy as np
from onward.bandits import OFUL, EpsilonGreedy, LinTS

seed, sigma, lam, delta, epsilon, rounds = ${seed}, ${pythonNumber(sigma)}, ${pythonNumber(lam)}, ${this.delta}, ${epsilon}, ${ROUNDS}
yours, seen = "${choices}", ${seen}                # your arms so far (0 is arm 1), and the round that is shown

rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
noise = sigma * np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,))).standard_normal(rounds)
angle, polar = 2 * np.pi * rng.random(), rng.random((10, 2))
worlds = []                                            # arms and mean rewards of each round
for t in range(rounds):
${world === "fresh" ? "    polar = polar if t == 0 else rng.random((10, 2))\n" : world === "drifting" ? "    if t > 0:\n        polar[:, 0] += 0.15 * rng.standard_normal(10) / (2 * np.pi)\n" : ""}    turn, length = 2 * np.pi * polar[:, 0], 0.4 + 0.6 * polar[:, 1]
    arms = np.column_stack([length * np.cos(turn), length * np.sin(turn)])
    at = angle${world === "turning" ? " + np.pi * t / rounds" : ""}
    worlds.append((arms, arms @ [np.cos(at), np.sin(at)]))

policies = {
    "you": OFUL(lam=lam, sigma=sigma, theta_bound=1.0, delta=delta, seed=seed),
${POLICIES.map(({ kind, make }) => `    "${kind}": ${make},`).join("\n")}
}
for name, policy in policies.items():
    regret = 0.0
    for t in range(seen):
        arms, means = worlds[t]
        i = int(yours[t]) if name == "you" else policy.choose(arms)
        policy.learn(arms[i], means[i] + noise[t])
        regret += means.max() - means[i]
    print(f"{name} {float(regret)!r}")
    if seen < rounds:                                  # why this arm?
        arms = worlds[seen][0]
        for i, (estimate, index) in enumerate(zip(policy.estimate(arms), policy.index(arms))):
            print(f"{name}.estimate{i} {float(estimate)!r}")
            print(f"{name}.index{i} {float(index)!r}")
`;
  },
};
