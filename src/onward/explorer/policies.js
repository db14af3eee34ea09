// The bandit: a world of ten arms in the plane, and policies with the settings of theory, as in onward.bandits.
const ARMS = 10;

// Arms, θ* and noise of each round, the same for everybody. Arms are uniform in direction, of length 0.4 to 1.
function drawWorld({ seed, world, sigma, rounds }) {
  const random = new Random(seed, 0);
  const angle = 2 * Math.PI * random.random();
  const draw = () => Array.from({ length: ARMS }, () => [2 * Math.PI * random.random(), 0.4 + 0.6 * random.random()]);
  const place = (arms) => arms.map(([turn, length]) => [length * Math.cos(turn), length * Math.sin(turn)]);
  let arms = draw();
  const out = [];
  const noise = new Random(seed, 1).normals(rounds);
  for (let t = 0; t < rounds; t += 1) {
    if (t > 0 && world === "fresh") arms = draw();
    if (t > 0 && world === "drifting") arms = arms.map(([turn, length]) => [turn + 0.15 * random.normal(), length]);
    const at = angle + (world === "turning" ? Math.PI * t / rounds : 0);
    const theta = [Math.cos(at), Math.sin(at)], actions = place(arms);
    const means = actions.map((x) => dot(x, theta)), best = Math.max(...means);
    out.push({ theta, actions, means, regrets: means.map((mean) => best - mean), noise: sigma * noise[t] });
  }
  return out;
}

const largest = (values) => {
  const best = Math.max(...values);
  return values.flatMap((value, i) => (value === best ? [i] : []));
};

// A policy: what it learned, and for each arm estimate, width and index. Ties are broken at random, as the library does.
class Policy {
  constructor(kind, { lam, sigma, bound, delta, epsilon }, seed) {
    Object.assign(this, { kind, sigma, bound, delta, epsilon });
    this.factor = new Factor(2, lam);
    this.random = new Random(seed, 0x6f6e);
  }

  // Estimate, width and index of each arm; `draws` are those of this choice, for a rule that samples.
  read(actions, draws) {
    const { factor, kind, bound } = this;
    const radius = jointRadius(this.sigma, this.delta, factor.gain(), factor.lam, bound);
    return actions.map((x) => {
      const { p: [ridge], q } = factor.read(x);
      if (kind === "oful") return parts(ridge, radius * Math.sqrt(q));
      if (kind === "forward") return parts(ridge / (1 + q), (radius * Math.sqrt(q) + q * norm(x) * bound) / (1 + q));
      if (kind === "sampling") return parts(ridge, this.sigma * factor.r.reduce((sum, left, k) => sum + left / Math.sqrt(factor.D[k]) * draws[k], 0));
      return parts(ridge, 0);
    });
  }

  choose(actions) {
    const { kind, random } = this;
    const draws = kind === "sampling" ? random.normals(2) : kind === "greedy" ? [random.random(), random.random()] : [];
    const read = this.read(actions, draws);
    if (kind === "greedy" && draws[0] < this.epsilon) return { read, chosen: Math.floor(draws[1] * actions.length), explored: true };
    const ties = largest(read.map((each) => each.index));
    return { read, chosen: ties.length > 1 ? ties[Math.floor(random.random() * ties.length)] : ties[0], explored: false };
  }

  learn(x, reward) {
    this.factor.absorb(x, [reward]);
  }
}
const parts = (estimate, width) => ({ estimate, width, index: estimate + width });

const POLICIES = [
  { kind: "oful", name: "OFUL", make: "OFUL(lam=lam, sigma=sigma, theta_bound=1.0, delta=delta, seed=seed)" },
  { kind: "forward", name: "OFUL^f", make: 'OFUL(lam=lam, sigma=sigma, theta_bound=1.0, delta=delta, estimator="forward", seed=seed)' },
  { kind: "sampling", name: "LinTS", make: "LinTS(lam=lam, sigma=sigma, seed=seed)" },
  { kind: "greedy", name: "ε-greedy", make: "EpsilonGreedy(epsilon, lam=lam, seed=seed)" },
];

// A policy's game in a world: each round's factor before it, what it read, what it took, and its regret so far.
function playPolicy(kind, settings, world) {
  const policy = new Policy(kind, settings, settings.seed);
  let total = 0;
  return world.map(({ actions, means, regrets, noise }) => {
    const before = policy.factor.copy(), choice = policy.choose(actions);
    policy.learn(actions[choice.chosen], means[choice.chosen] + noise);
    total += regrets[choice.chosen];
    return { ...choice, before, total };
  });
}

// Your game: the arms that you chose, read by OFUL on what you have learned.
function playYours(choices, settings, world) {
  const policy = new Policy("oful", settings, settings.seed);
  let total = 0;
  const played = choices.map((chosen, t) => {
    const { actions, means, regrets, noise } = world[t];
    const before = policy.factor.copy(), read = policy.read(actions);
    policy.learn(actions[chosen], means[chosen] + noise);
    total += regrets[chosen];
    return { chosen, read, before, total, explored: false };
  });
  const last = { before: policy.factor.copy(), read: choices.length < world.length ? policy.read(world[choices.length].actions) : [] };
  return { played, last };
}
