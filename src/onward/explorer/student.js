// Least squares of a two-group test, with the t interval of one look and the anytime interval of all looks at once.

// log Γ (Lanczos), for the t law.
function logGamma(x) {
  const terms = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  const at = x - 1, base = at + 7.5;
  const sum = terms.reduce((total, each, i) => total + (i ? each / (at + i) : each), 0);
  return 0.5 * Math.log(2 * Math.PI) + (at + 0.5) * Math.log(base) - base + Math.log(sum);
}

// The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz).
function incompleteBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let c = 1, e = 1 / (1 - (a + b) * x / (a + 1)), f = e;
  for (let m = 1; m < 500; m += 1) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    e = 1 / (1 + even * e);
    c = 1 + even / c;
    f *= c * e;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    e = 1 / (1 + odd * e);
    c = 1 + odd / c;
    f *= c * e;
    if (Math.abs(c * e - 1) < 1e-16) break;
  }
  return front * f;
}

// The t that a t variable of so many degrees of freedom leaves with probability δ, on either side: by Newton's steps.
const quantiles = new Map();
function studentQuantile(freedom, delta) {
  const key = `${freedom},${delta}`;
  if (!quantiles.has(key)) {
    const tail = (t) => incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
    const scale = Math.exp(logGamma((freedom + 1) / 2) - logGamma(freedom / 2)) / Math.sqrt(freedom * Math.PI);
    let low = 0, high = 2;
    while (tail(high) > delta) high *= 2;
    let t = high / 2;
    for (let i = 0; i < 200; i += 1) {
      const excess = tail(t) - delta;
      if (excess > 0) low = t; else high = t;
      const slope = -2 * scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2);
      const next = t - excess / slope;
      const used = next > low && next < high ? next : (low + high) / 2;
      if (Math.abs(used - t) <= 1e-15 * used) break;
      t = used;
    }
    quantiles.set(key, t);
  }
  return quantiles.get(key);
}

const BEST = 8; // z over λ' where anytime intervals are narrowest
const LEAST_FREEDOM = 4; // degrees of freedom before which features say too little of their scale

// A test of two groups, visitor by visitor: the state is least squares of y on a constant and the treatment.
class TwoGroups {
  constructor(delta, tunedFor) {
    Object.assign(this, { delta, tunedFor, rate: NaN, rows: 0 });
    this.factor = new Factor(2, 0);
    this.row = [1, 0];
    this.target = [0];
  }

  learn(treated, y) {
    this.row[1] = treated ? 1 : 0;
    this.target[0] = y;
    this.factor.absorb(this.row, this.target);
    this.rows += 1;
  }

  // The effect of the treatment, with both intervals. The first look fixes the scale λ' = rate · tunedFor / 8.
  look() {
    const { factor, delta } = this;
    const freedom = this.rows - 2, estimate = factor.coefficients()[1];
    const variance = factor.read([0, 1]).q; // xᵀA⁻¹x
    if (Number.isNaN(this.rate) && freedom >= LEAST_FREEDOM) this.rate = 1 / (variance * (freedom + 1));
    const error = Math.sqrt(factor.loss[0] / freedom * variance);
    const rho = BEST / (variance * this.rate * this.tunedFor), level = -2 * Math.log(delta);
    const g = -Math.expm1(-(level + Math.log1p(rho)) / (freedom + 1)), left = rho / (1 + rho) - g;
    const fixed = studentQuantile(freedom, delta) * error;
    const anytime = left > 0 ? Math.sqrt(g * freedom / left) * error : Infinity;
    const share = 1 / (1 + rho), square = estimate * estimate;
    const logE = -0.5 * Math.log1p(rho) + 0.5 * (freedom + 1) * Math.log1p((1 - share) * square / (error * error * freedom + share * square));
    return { rows: this.rows, estimate, error, fixed, anytime, logE };
  }
}

// One test: visitors alternate between the groups; the day ends with a look.
function playTest({ seed, visitors, days, delta, effect, tuned }, test) {
  const random = new Random(seed, test), groups = new TwoGroups(delta, tuned), looks = [];
  for (let day = 1; day <= days; day += 1) {
    for (let i = 0; i < visitors; i += 1) {
      const treated = groups.rows % 2 === 1;
      groups.learn(treated, (treated ? effect : 0) + random.normal());
    }
    looks.push(groups.look());
  }
  const first = (name) => looks.findIndex((look) => Math.abs(look.estimate) > look[name]) + 1; // 0: never
  return { looks, fixedDay: first("fixed"), anytimeDay: first("anytime") };
}
