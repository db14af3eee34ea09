// The one state: G = UᵀDU with U unit upper triangular, and Uθ = c for each target. As in onward.core.factor.
class Factor {
  // λ = 0 starts from empty pivots: least squares, once the rows span all coordinates.
  constructor(d, lam, targets = 1) {
    this.d = d;
    this.lam = lam;
    this.targets = targets;
    this.U = Float64Array.from({ length: d * d }, (_, i) => (i % (d + 1) === 0 ? 1 : 0));
    this.D = new Float64Array(d).fill(lam);
    this.c = new Float64Array(d * targets);
    this.loss = new Float64Array(targets); // the least regularised loss
    this.r = new Float64Array(d);
    this.rho = new Float64Array(targets);
    this.p = new Float64Array(targets); // ridge predictions of the row read or absorbed last
    this.q = 0; // its leverage, before it was absorbed
  }

  // Absorb a row with its targets. On the way it is predicted: p and q.
  absorb(x, y) {
    const { d, targets, U, D, c, r, rho } = this;
    let a = 1;
    for (let k = 0; k < d; k += 1) r[k] = x[k];
    for (let m = 0; m < targets; m += 1) rho[m] = y[m];
    for (let k = 0; k < d; k += 1) {
      const p = r[k], old = D[k], now = old + a * p * p;
      if (now === 0) continue; // an empty pivot that the row does not fill
      const beta = a * p / now, share = old / now;
      a *= share;
      D[k] = now;
      for (let j = k + 1; j < d; j += 1) {
        r[j] -= p * U[k * d + j];
        U[k * d + j] += beta * r[j];
      }
      for (let m = 0; m < targets; m += 1) {
        const at = k * targets + m;
        rho[m] -= p * c[at];
        c[at] += beta * rho[m];
      }
    }
    this.q = 1 / a - 1;
    for (let m = 0; m < targets; m += 1) {
      this.p[m] = y[m] - rho[m];
      this.loss[m] += a * rho[m] * rho[m];
    }
  }

  // Read a row without learning it: p and q. It leaves in r what the row has left at each pivot: Uᵀr = x.
  read(x) {
    const { d, targets, U, D, c, r, p } = this;
    this.q = 0;
    p.fill(0);
    for (let k = 0; k < d; k += 1) r[k] = x[k];
    for (let k = 0; k < d; k += 1) {
      const left = r[k];
      if (left === 0) continue;
      this.q += left * left / D[k];
      for (let j = k + 1; j < d; j += 1) r[j] -= left * U[k * d + j];
      for (let m = 0; m < targets; m += 1) p[m] += left * c[k * targets + m];
    }
    return this;
  }

  // G⁻¹x, after x was read.
  solve() {
    const { d, U, D, r } = this;
    const z = new Float64Array(d);
    for (let k = d - 1; k >= 0; k -= 1) {
      z[k] = r[k] / D[k];
      for (let j = k + 1; j < d; j += 1) z[k] -= U[k * d + j] * z[j];
    }
    return z;
  }

  // The ridge estimate θ, from Uθ = c.
  coefficients() {
    const { d, targets, U, c } = this;
    const theta = new Float64Array(d);
    for (let k = d - 1; k >= 0; k -= 1) {
      theta[k] = c[k * targets];
      for (let j = k + 1; j < d; j += 1) theta[k] -= U[k * d + j] * theta[j];
    }
    return theta;
  }

  // The information gain, log det G − d log λ.
  gain() {
    return this.D.reduce((sum, each) => sum + Math.log(each / this.lam), 0);
  }

  copy() {
    const other = new Factor(this.d, this.lam, this.targets);
    for (const name of ["U", "D", "c", "loss"]) other[name].set(this[name]);
    return other;
  }
}

const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};
const norm = (a) => Math.sqrt(dot(a, a));

// σ√(2 log(1/δ) + I): what noise can do to the estimate, in the norm of G, at all rounds at once.
const noiseRadius = (sigma, delta, gain) => sigma * Math.sqrt(gain - 2 * Math.log(delta));
// W = √(σ²(2 log(1/δ) + I) + λS²), the radius of ridge's set.
const jointRadius = (sigma, delta, gain, lam, bound) => Math.hypot(noiseRadius(sigma, delta, gain), Math.sqrt(lam) * bound);

// Points around {θ : ‖θ − θ_t‖ ≤ radius} in the norm of G, two coordinates: θ = θ_t + radius U⁻¹D^(−1/2) (cos, sin).
function ellipse(factor, radius, points = 90) {
  const [a, b] = factor.coefficients();
  const u = factor.U[1], [s, t] = [radius / Math.sqrt(factor.D[0]), radius / Math.sqrt(factor.D[1])];
  return Array.from({ length: points + 1 }, (_, i) => {
    const angle = 2 * Math.PI * i / points, second = t * Math.sin(angle);
    return [a + s * Math.cos(angle) - u * second, b + second];
  });
}
