// The numbers of numpy.random.default_rng(SeedSequence(seed, spawn_key=key)): random() to the last bit, normal() to the
// rounding of its tables. So Python draws the same worlds, and policies of the library the same samples.

// SeedSequence: the words of the seed, and of the key behind them, are hashed into a pool of four words.
function seedWords(seed, key, count) {
  const words = [seed >>> 0];
  if (seed >= 2 ** 32) words.push(Math.floor(seed / 2 ** 32));
  while (key.length && words.length < 4) words.push(0);
  for (const each of key) words.push(each >>> 0);
  let constant = 0x43b0d7e5;
  const hash = (value) => {
    let mixed = value ^ constant;
    constant = Math.imul(constant, 0x931e8875);
    mixed = Math.imul(mixed, constant);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const mix = (x, y) => {
    const mixed = Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const pool = [0, 1, 2, 3].map((i) => hash(words[i] ?? 0));
  for (let from = 0; from < 4; from += 1) {
    for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const each of words.slice(4)) for (let to = 0; to < 4; to += 1) pool[to] = mix(pool[to], hash(each));
  constant = 0x8b51f9dd;
  return Array.from({ length: count }, (_, i) => {
    let value = pool[i % 4] ^ constant;
    constant = Math.imul(constant, 0x58f38ded);
    value = Math.imul(value, constant);
    return (value ^ (value >>> 16)) >>> 0;
  });
}

// The layers of the ziggurat under exp(−x²/2): 256 of one area, the last of which reaches into the tail.
const LAYERS = (() => {
  const tail = 3.6541528853610088, area = 0.0049286732339746519, size = 2 ** 52;
  const limit = new Float64Array(256), width = new Float64Array(256), height = new Float64Array(256);
  height[255] = Math.exp(-0.5 * tail * tail);
  width[255] = tail / size;
  limit[0] = Math.trunc(tail * height[255] / area * size);
  width[0] = area / height[255] / size;
  height[0] = 1;
  for (let i = 254, above = tail; i >= 1; i -= 1) {
    const x = Math.sqrt(-2 * Math.log(area / above + height[i + 1]));
    limit[i + 1] = Math.trunc(x / above * size);
    width[i] = x / size;
    height[i] = Math.exp(-0.5 * x * x);
    above = x;
  }
  limit[1] = 0;
  return { tail, limit, width, height };
})();

// PCG64: a linear step of 128 bits, of which 64 are put out. Numbers are held in 16-bit limbs, the lowest first, as
// doubles: that is faster here than words of 32 bits, and far faster than BigInt.
const STEP = Float64Array.of(0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360);

class Random {
  constructor(seed, ...key) {
    const words = seedWords(seed, key, 8); // four words of 64 bits: the state's high and low, the stream's high and low
    const limbs = (high, low) => [low, low + 1, high, high + 1].flatMap((i) => [words[i] & 0xffff, words[i] >>> 16]);
    const [start, stream] = [limbs(0, 2), limbs(4, 6)];
    this.add = Float64Array.from(stream, (limb, i) => ((limb << 1) | (i ? stream[i - 1] >>> 15 : 1)) & 0xffff);
    this.state = new Float64Array(8);
    this.other = new Float64Array(8);
    this.high = this.low = 0;
    this.step();
    let carry = 0;
    for (let i = 0; i < 8; i += 1) {
      const sum = this.state[i] + start[i] + carry;
      this.state[i] = sum % 65536;
      carry = sum >= 65536 ? 1 : 0;
    }
    this.step();
  }

  step() {
    const { state, add, other } = this;
    let carry = 0;
    for (let k = 0; k < 8; k += 1) {
      let sum = carry + add[k]; // below 2⁵³: at most eight products of 32 bits
      for (let i = 0; i <= k; i += 1) sum += state[i] * STEP[k - i];
      carry = Math.floor(sum / 65536);
      other[k] = sum - carry * 65536;
    }
    this.state = other;
    this.other = state;
  }

  // The next 64 bits, as the words high and low.
  bits() {
    this.step();
    const s = this.state;
    const low = (s[0] | (s[1] << 16)) ^ (s[4] | (s[5] << 16)), high = (s[2] | (s[3] << 16)) ^ (s[6] | (s[7] << 16));
    const turn = s[7] >>> 10, by = turn & 31;
    const a = turn >= 32 ? low : high, b = turn >= 32 ? high : low;
    this.high = (by ? (a >>> by) | (b << (32 - by)) : a) >>> 0;
    this.low = (by ? (b >>> by) | (a << (32 - by)) : b) >>> 0;
  }

  // Uniform in [0, 1), of 53 bits.
  random() {
    this.bits();
    return (this.high * 2097152 + (this.low >>> 11)) / 2 ** 53;
  }

  // Standard normal.
  normal() {
    const { tail, limit, width, height } = LAYERS;
    for (;;) {
      this.bits();
      const layer = this.low & 0xff, negative = (this.low >>> 8) & 1;
      const size = (this.high & 0x1fffffff) * 8388608 + (this.low >>> 9); // 52 bits
      const x = size * width[layer];
      if (size < limit[layer]) return negative ? -x : x;
      if (layer === 0) {
        for (;;) {
          const beyond = -Math.log1p(-this.random()) / tail, y = -Math.log1p(-this.random());
          if (2 * y > beyond * beyond) return Math.floor(size / 256) % 2 ? -(tail + beyond) : tail + beyond;
        }
      }
      if ((height[layer - 1] - height[layer]) * this.random() + height[layer] < Math.exp(-0.5 * x * x)) return negative ? -x : x;
    }
  }

  normals(count) {
    return Float64Array.from({ length: count }, () => this.normal());
  }
}
