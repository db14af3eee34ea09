// Ridge and forward: one row, and whole runs with their regret, its exact mean, the rule of one line and the bounds.

// What is said of a row: forward is ridge over 1 + leverage; its interval is (1 − h) times ridge's plus h times ±‖x‖S.
function readRow(factor, x, sigma, bound, delta) {
  const { p: [ridge], q } = factor.read(x);
  const radius = jointRadius(sigma, delta, factor.gain(), factor.lam, bound);
  const forward = ridge / (1 + q), reach = radius * Math.sqrt(q);
  const sharp = (reach + q * norm(x) * bound) / (1 + q);
  return { ridge, forward, leverage: q, radius, ridgeLow: ridge - reach, ridgeHigh: ridge + reach, forwardLow: forward - sharp, forwardHigh: forward + sharp };
}

// The world of a run: θ* on the unit sphere, rows of standard normal features, noise of variance 1.
function drawProblem(seed, run, d, rounds) {
  const random = new Random(seed, run);
  const theta = random.normals(d), X = random.normals(rounds * d), noise = random.normals(rounds);
  const length = norm(theta);
  for (let j = 0; j < d; j += 1) theta[j] /= length;
  const rows = Array.from({ length: rounds }, (_, t) => X.subarray(t * d, t * d + d));
  return { theta, rows, noise, signal: Float64Array.from(rows, (x) => dot(x, theta)) };
}

// Both learners over a problem with y = xᵀθ* + σε: regret to θ* after each round, and what bounds it.
function playRun({ rows, noise, signal }, sigma, lam, { delta, bound }) {
  const rounds = rows.length, d = rows[0].length;
  const factor = new Factor(d, lam);
  const out = { ridge: new Float64Array(rounds), forward: new Float64Array(rounds), ridgeBound: new Float64Array(rounds), forwardBound: new Float64Array(rounds), rule: 0 };
  let gain = 0, ridge = 0, forward = 0, ridgeSquares = 0, forwardSquares = 0;
  for (let t = 0; t < rounds; t += 1) {
    const mean = signal[t];
    factor.absorb(rows[t], [mean + sigma * noise[t]]);
    const { p: [p], q } = factor, h = q / (1 + q);
    const errors = [p - mean, p / (1 + q) - mean];
    ridge += errors[0] * (errors[0] - 2 * sigma * noise[t]);
    forward += errors[1] * (errors[1] - 2 * sigma * noise[t]);
    const W = jointRadius(sigma, delta / 2, gain, lam, bound);
    ridgeSquares += q * W * W;
    forwardSquares += (Math.sqrt(q) / (1 + q) * W + h * norm(rows[t]) * bound) ** 2;
    gain += Math.log1p(q);
    out.ridge[t] = ridge;
    out.forward[t] = forward;
    out.ridgeBound[t] = withNoise(ridgeSquares, sigma, delta);
    out.forwardBound[t] = withNoise(forwardSquares, sigma, delta);
    if (mean * mean < (2 + q) * sigma * sigma) out.rule += 1 / rounds; // the rule of one line
  }
  return out;
}

// B + 2·tail(B): the regret is Σa² + 2Σεa, and B bounds Σa².
function withNoise(squares, sigma, delta) {
  const slack = sigma * sigma;
  return squares + 2 * sigma * Math.sqrt(2 * (squares + slack) * (0.5 * Math.log1p(squares / slack) - Math.log(delta / 2)));
}

// The exact mean of both regrets over the noise, for each σ: with v = σ²xᵀG⁻¹AG⁻¹x, β = −λxᵀG⁻¹θ* and μ = xᵀθ*, ridge's is
// Σ v + β², forward's Σ (v + (β − qμ)²)/(1 + q)². One pass serves all σ.
function expectedRegrets({ theta, rows, signal }, sigmas, lam) {
  const factor = new Factor(theta.length, lam);
  const sums = { rv: 0, rb: 0, fv: 0, fb: 0 };
  rows.forEach((x, t) => {
    const { q } = factor.read(x);
    const z = factor.solve();
    const v = Math.max(0, q - lam * dot(z, z)), beta = -lam * dot(z, theta), shrunk = (1 + q) ** 2;
    sums.rv += v;
    sums.rb += beta * beta;
    sums.fv += v / shrunk;
    sums.fb += (beta - q * signal[t]) ** 2 / shrunk;
    factor.absorb(x, [0]);
  });
  return sigmas.map((sigma) => ({ ridge: sigma * sigma * sums.rv + sums.rb, forward: sigma * sigma * sums.fv + sums.fb }));
}
