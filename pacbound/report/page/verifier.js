// A checker of certificates in format 2, written from pacbound/certificate/SPEC.md alone.
//
// It shares no code with the Python checker: two programs that were written apart should give the
// same verdicts. It has no dependencies, fetches nothing and runs in browsers and in Node:
//
//     pacboundVerifier.verify(bytes)  →  {accepted, check, reason, certificate}
//
// `bytes` is a Uint8Array with the file. `check` is the number of the check that failed, as in
// SPEC.md, and null if the certificate is accepted. `certificate` is the parsed file if it is
// accepted, and null otherwise: what a rejected file says is not passed on.
//
// Contents, in this order: exact fractions; enclosures of real numbers; the functions and
// predicates of SPEC.md; SHA-256; the frozen lists; sections 1 to 13 of the checks, one function
// each; verify.

(() => {
  "use strict";

  // ==== verdicts =================================================================================

  /** A check failed. */
  class Rejection extends Error {
    constructor(check, reason) {
      super(reason);
      this.check = check;
    }
  }

  /** A comparison that the enclosures of both sides do not decide. */
  class Undecided extends Error {}

  /**
   * Make a check: `condition` is a function. An undecided comparison fails the check.
   * `reason` is a text, or a function that makes it only where it is needed.
   */
  const must = (check, condition, reason) => {
    let passed;
    try {
      passed = condition();
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      throw new Rejection(check, "the arithmetic of this checker does not decide a comparison");
    }
    if (!passed) throw new Rejection(check, typeof reason === "function" ? reason() : reason);
  };

  // ==== exact fractions ==========================================================================

  /** An exact rational number n/d of BigInts with d > 0, not necessarily in lowest terms. */
  class Fraction {
    constructor(n, d = 1n) {
      this.n = n;
      this.d = d;
    }

    /** From a fraction, a BigInt or a JavaScript integer. */
    static of(value) {
      return value instanceof Fraction ? value : new Fraction(BigInt(value));
    }

    /** From a decimal string that has passed check 2.5. */
    static decimal(text) {
      const point = text.indexOf(".");
      if (point < 0) return new Fraction(BigInt(text));
      const places = text.length - point - 1;
      return new Fraction(BigInt(text.replace(".", "")), 10n ** BigInt(places));
    }

    plus(other) {
      const { n, d } = Fraction.of(other);
      // Sums of thousands of decimals must not multiply their denominators.
      if (this.d % d === 0n) return new Fraction(this.n + n * (this.d / d), this.d);
      if (d % this.d === 0n) return new Fraction(this.n * (d / this.d) + n, d);
      return new Fraction(this.n * d + n * this.d, this.d * d);
    }

    minus(other) {
      const { n, d } = Fraction.of(other);
      return this.plus(new Fraction(-n, d));
    }

    times(other) {
      const { n, d } = Fraction.of(other);
      return new Fraction(this.n * n, this.d * d);
    }

    /** Divided by a positive number. */
    over(other) {
      const { n, d } = Fraction.of(other);
      return new Fraction(this.n * d, this.d * n);
    }

    isBelow(other) {
      const { n, d } = Fraction.of(other);
      return this.n * d < n * this.d;
    }

    isAtLeast(other) {
      return !this.isBelow(other);
    }

    equals(other) {
      const { n, d } = Fraction.of(other);
      return this.n * d === n * this.d;
    }
  }

  /** ⌊a/b⌋ and ⌈a/b⌉ for b > 0; the division of BigInts rounds towards 0. */
  const floorDivide = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n);
  const ceilDivide = (a, b) => -floorDivide(-a, b);

  // ==== enclosures of real numbers ===============================================================
  //
  // A real number is enclosed by two integers lo ≤ hi in units of 2^-512 (10^-154). Every operation
  // rounds lo down and hi up. The smallest number that a formula of SPEC.md divides by or takes the
  // logarithm of is 0.1·e^-100 (a prior variance) or 10^-45 (an empirical cost), so that each
  // operation has more than 100 significant digits. Smaller exponentials occur only beside a 1
  // that they are added to.

  const BITS = 512n;
  const ONE = 1n << BITS;
  // Series are summed with 64 bits more. Their errors are shown to be far below 2^64 such units,
  // so that they are at most one unit of the enclosure.
  const GUARD = 64n;
  const WORK = BITS + GUARD;
  const WORK_ONE = 1n << WORK;

  const shift = (x, left) => (left >= 0n ? x << left : x >> -left); // rounds down

  const bitLength = (x) => {
    const hex = x.toString(16);
    return BigInt(4 * hex.length - Math.clz32(parseInt(hex[0], 16)) + 28);
  };

  /** ⌊√x⌋ by Newton's iteration from above, where it falls until it has arrived. */
  const integerRoot = (x) => {
    if (x < 2n) return x;
    let root = 1n << ((bitLength(x) + 1n) / 2n);
    for (;;) {
      const next = (root + x / root) >> 1n;
      if (next >= root) return root;
      root = next;
    }
  };

  /**
   * 2·artanh(z) = 2(z + z³/3 + z⁵/5 + …) = ln((1 + z)/(1 − z)) for 0 ≤ z ≤ 1/3, in working units.
   * At most 2^11 units too small: fewer than 200 terms, each short by less than 4 units.
   */
  const twiceArtanh = (z) => {
    const square = (z * z) >> WORK;
    let power = z;
    let sum = 0n;
    for (let i = 1n; power > 0n; i += 2n) {
      sum += power / i;
      power = (power * square) >> WORK;
    }
    return 2n * sum;
  };

  const LN_2 = twiceArtanh(WORK_ONE / 3n);

  const lnOfEntry = new Map();
  /** ln(j/128) for j = 128 … 255, in working units; at most 2^11 units too small. */
  const tabledLn = (j) => {
    if (!lnOfEntry.has(j)) lnOfEntry.set(j, twiceArtanh(((j - 128n) << WORK) / (j + 128n)));
    return lnOfEntry.get(j);
  };

  /**
   * An enclosure [lo, hi] of ln(x/2^512) for an integer x > 0.
   * With x/2^512 = 2^k·y, 1 ≤ y < 2 and c = j/128 the next such fraction below y:
   * ln = k ln 2 + ln c + 2 artanh((y − c)/(y + c)). For |k| < 2^40 the error is below 2^52 units.
   */
  const lnOfPoint = (x) => {
    const top = bitLength(x) - 1n;
    const y = shift(x, WORK - top);
    const j = y >> (WORK - 7n);
    const c = j << (WORK - 7n);
    const rest = twiceArtanh(((y - c) << WORK) / (y + c));
    const sum = ((top - BITS) * LN_2 + tabledLn(j) + rest) >> GUARD;
    return [sum - 1n, sum + 2n];
  };

  /**
   * An enclosure [lo, hi] of exp(x/2^512) for an integer x.
   * With x/2^512 = k ln 2 + r: exp = 2^k·(exp(r/256))^256. r is wrong by at most 2^11·|k| units,
   * the series by 2^8 and the eight squares multiply that by 2^9, so for |k| < 2^20 the error is
   * below 2^32 units.
   */
  const expOfPoint = (x) => {
    const scaled = x << GUARD;
    const k = floorDivide(scaled, LN_2);
    if (k > 1n << 20n) throw new RangeError("exp of a large number");
    if (k < -WORK) return [0n, 1n];
    const r = (scaled - k * LN_2) >> 8n;
    let term = WORK_ONE;
    let sum = 0n;
    for (let i = 1n; term > 0n; i += 1n) {
      sum += term;
      term = ((term * r) >> WORK) / i;
    }
    for (let i = 0; i < 8; i += 1) sum = (sum * sum) >> WORK;
    const error = 1n << 40n;
    return [shift(sum - error, k - GUARD), shift(sum + error, k - GUARD) + 1n];
  };

  /** A real number between lo·2^-512 and hi·2^-512. */
  class Interval {
    constructor(lo, hi) {
      this.lo = lo;
      this.hi = hi;
    }

    /** From an interval, a fraction, a BigInt or a JavaScript integer. */
    static of(value) {
      if (value instanceof Interval) return value;
      const { n, d } = Fraction.of(value);
      const scaled = n << BITS;
      return new Interval(floorDivide(scaled, d), ceilDivide(scaled, d));
    }

    plus(other) {
      const { lo, hi } = Interval.of(other);
      return new Interval(this.lo + lo, this.hi + hi);
    }

    minus(other) {
      const { lo, hi } = Interval.of(other);
      return new Interval(this.lo - hi, this.hi - lo);
    }

    times(other) {
      const { lo, hi } = Interval.of(other);
      const products = [this.lo * lo, this.lo * hi, this.hi * lo, this.hi * hi];
      const least = products.reduce((a, b) => (a < b ? a : b));
      const most = products.reduce((a, b) => (a > b ? a : b));
      return new Interval(least >> BITS, -(-most >> BITS));
    }

    /** Divided by a positive number. */
    over(other) {
      const { lo, hi } = Interval.of(other);
      if (lo <= 0n) throw new Undecided();
      return new Interval(
        floorDivide(this.lo << BITS, this.lo < 0n ? lo : hi),
        ceilDivide(this.hi << BITS, this.hi < 0n ? hi : lo),
      );
    }

    squared() {
      return this.times(this);
    }

    /** The root of a number that is not negative. */
    root() {
      const lo = this.lo > 0n ? this.lo : 0n;
      return new Interval(integerRoot(lo << BITS), integerRoot(this.hi << BITS) + 1n);
    }

    ln() {
      if (this.lo <= 0n) throw new Undecided();
      const [lo, hi] = lnOfPoint(this.lo);
      // ln(x + w) ≤ ln x + w/x
      return new Interval(lo, hi + ceilDivide((this.hi - this.lo) << BITS, this.lo));
    }

    exp() {
      return new Interval(expOfPoint(this.lo)[0], expOfPoint(this.hi)[1]);
    }

    /** The larger of this and an integer. */
    max(integer) {
      const other = BigInt(integer) << BITS;
      return new Interval(
        this.lo > other ? this.lo : other,
        this.hi > other ? this.hi : other,
      );
    }

    /** The smaller of this and another. */
    min(other) {
      return new Interval(
        this.lo < other.lo ? this.lo : other.lo,
        this.hi < other.hi ? this.hi : other.hi,
      );
    }

    /** The lower end as a decimal, for people and tests. */
    toDecimal(places) {
      const scaled = (this.lo * 10n ** BigInt(places)) >> BITS;
      const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
      const whole = digits.slice(0, digits.length - places);
      return `${scaled < 0n ? "-" : ""}${whole}.${digits.slice(digits.length - places)}`;
    }
  }

  /** SPEC.md, "Comparisons": with slack, a ≤ b is true if and only if a ≤ b + 10^-30. */
  const SLACK = Interval.of(new Fraction(1n, 10n ** 30n));
  const isAtMost = (a, b) => {
    const left = Interval.of(a);
    const right = Interval.of(b).plus(SLACK);
    if (left.hi <= right.lo) return true;
    if (left.lo > right.hi) return false;
    throw new Undecided();
  };

  const ln = (x) => Interval.of(x).ln();
  const sqrt = (x) => Interval.of(x).root();
  const sum = (intervals) => intervals.reduce((a, b) => a.plus(b), Interval.of(0));

  /** π = 16 arctan(1/5) − 4 arctan(1/239) (Machin 1706); the error is below 2^12 working units. */
  const PI = (() => {
    const arctan = (q) => {
      let power = WORK_ONE / q;
      let total = 0n;
      for (let i = 1n, sign = 1n; power > 0n; i += 2n, sign = -sign) {
        total += (sign * power) / i;
        power /= q * q;
      }
      return total;
    };
    const value = (16n * arctan(5n) - 4n * arctan(239n)) >> GUARD;
    return new Interval(value - 1n, value + 2n);
  })();

  // ==== the functions and predicates of SPEC.md, "Arithmetic and rounding" =======================

  const RATE_UNIT = new Fraction(1n, 10n ** 10n);
  const NATS_UNIT = new Fraction(1n, 10n ** 6n);
  const twice = (unit) => unit.times(2);

  /** kl(q‖p) of two coins, for fractions 0 ≤ q < p < 1. */
  const kl = (q, p) => {
    const one = new Fraction(1n);
    const [notQ, notP] = [one.minus(q), one.minus(p)];
    const second = ln(notQ.over(notP)).times(notQ);
    return q.n === 0n ? second : ln(q.over(p)).times(q).plus(second);
  };

  /** kl-sound(q, c, p) for fractions q and p and an enclosure c. */
  const klSound = (q, c, p) => {
    if (p.isAtLeast(1)) return true;
    if (p.isBelow(0)) return false;
    if (p.isAtLeast(q) && isAtMost(c, 0)) return true;
    return q.isBelow(p) && isAtMost(c, kl(q, p));
  };

  /** The first 21 coefficients of Stirling's series, B_2i/(2i(2i − 1)), from tangent numbers. */
  const STIRLING = (() => {
    const count = 21;
    const tangent = [0n, 1n];
    for (let i = 2; i <= count; i += 1) tangent[i] = BigInt(i - 1) * tangent[i - 1];
    for (let i = 2; i <= count; i += 1) {
      for (let j = i; j <= count; j += 1) {
        tangent[j] = BigInt(j - i) * tangent[j - 1] + BigInt(j - i + 2) * tangent[j];
      }
    }
    return tangent.slice(1).map((value, place) => {
      const i = BigInt(place + 1);
      const power = 4n ** i;
      const sign = place % 2 === 0 ? 1n : -1n;
      return new Fraction(sign * value, (2n * i - 1n) * power * (power - 1n));
    });
  })();

  const lnFactorials = new Map();
  /** ln n! for an integer n ≥ 0. */
  const lnFactorial = (n) => {
    if (!lnFactorials.has(n)) lnFactorials.set(n, n <= 256 ? smallLnFactorial(n) : stirling(n));
    return lnFactorials.get(n);
  };
  const smallLnFactorial = (n) => {
    let product = 1n;
    for (let i = 2; i <= n; i += 1) product *= BigInt(i);
    return ln(product);
  };
  /** 20 terms end with a negative one and are below ln n!, 21 are above; for n > 256 they differ
   *  by less than 10^-80. */
  const stirling = (n) => {
    const base = ln(n).times(n).minus(n).plus(ln(PI.times(2 * n)).over(2));
    const terms = STIRLING.map(({ n: top, d }, i) =>
      Interval.of(new Fraction(top, d * BigInt(n) ** BigInt(2 * i + 1))),
    );
    const below = base.plus(sum(terms.slice(0, 20)));
    return new Interval(below.lo, below.plus(terms[20]).hi);
  };

  /** ln C(n, k). */
  const lnChoose = (n, k) => lnFactorial(n).minus(lnFactorial(k)).minus(lnFactorial(n - k));

  /** binomial-sound(k, n, ℓ, p) for integers k and n, an enclosure ℓ and a fraction p. */
  const binomialSound = (k, n, level, p) => {
    if (p.isAtLeast(1)) return true;
    if (!(k < n && new Fraction(BigInt(k), BigInt(n)).isBelow(p))) return false;
    const lnTerm = lnChoose(n, k)
      .plus(ln(p).times(k))
      .plus(ln(new Fraction(1n).minus(p)).times(n - k));
    if (k === 0) return isAtMost(lnTerm, level.times(-1));
    return isTailSumAtMost(k, n, p, level.times(-1).minus(lnTerm).plus(SLACK));
  };

  /**
   * Whether 1 + r₁ + r₁r₂ + … ≤ exp(lnLimit), the terms being those of SPEC.md, "How to evaluate
   * ln B fast". Terms are summed only until this is decided.
   *
   * The sum is kept in units of 2^-320 and rounded down. A product of i factors below 1 is short
   * by less than i units, so the sum of i terms by less than (i + 1)² units.
   */
  const isTailSumAtMost = (k, n, p, lnLimit) => {
    if (lnLimit.hi < 0n) return false; // the sum is at least 1
    if (lnLimit.lo > 40n << BITS) return true; // the sum is at most k + 1 < e^40
    const unit = 320n;
    const limit = lnLimit.exp();
    const limitLo = limit.lo >> (BITS - unit);
    const limitHi = (limit.hi >> (BITS - unit)) + 1n;
    const [up, down] = [p.d - p.n, p.n]; // (1 − p)/p
    const factor = (i) => [BigInt(k - i + 1) * up, BigInt(n - k + i) * down];
    let product = 1n << unit;
    let partial = product;
    for (let i = 1; i <= k; i += 1) {
      const [above, below] = factor(i);
      product = (product * above) / below;
      partial += product;
      if (partial > limitHi) return false;
      if (i % 16 !== 0 && i < k) continue;
      const short = BigInt(i + 1) ** 2n;
      // The rest is at most Pᵢ·rᵢ₊₁/(1 − rᵢ₊₁), and nothing after i = k.
      const [nextAbove, nextBelow] = factor(i + 1);
      const rest =
        i === k ? 0n : ((product + BigInt(i)) * nextAbove) / (nextBelow - nextAbove) + 1n;
      if (partial + short + rest <= limitLo) return true;
      if (rest <= short) break; // more terms would not decide it
    }
    throw new Undecided();
  };

  /** X(m), the upper bound of Maurer's constant ξ(m). */
  const maurerConstant = (m) => {
    const exponent = Interval.of(new Fraction(1n, 12n * BigInt(m))).exp();
    return sqrt(PI.times(2 * m))
      .times(exponent)
      .minus(new Fraction(2n, 3n))
      .minus(new Fraction(8n, 135n * BigInt(m) + 24n)) // 8/(135(m + 8/45))
      .over(2)
      .plus(1);
  };

  const LN_OF_PI_SQUARED_SIXTH = PI.squared().over(6).ln();
  const costs = new Map();
  /** cost(k) = 2 ln k + ln(π²/6) nats, of an index k ≥ 1 in a declared list. */
  const cost = (k) => {
    if (!costs.has(k)) costs.set(k, ln(k).times(2).plus(LN_OF_PI_SQUARED_SIXTH));
    return costs.get(k);
  };

  /** Check that a figure in nats is due for an enclosure: x ≤ v < x + 2u, with slack. */
  const mustBeDueNats = (check, name, shown, exact) => {
    const value = Fraction.decimal(shown);
    must(
      check,
      () => isAtMost(exact, value),
      () => `${name} is ${shown}, less than the ${exact.toDecimal(8)} that are due`,
    );
    must(
      check,
      () => !isAtMost(exact, value.minus(twice(NATS_UNIT))),
      () => `${name} is ${shown}, more than rounding explains: ${exact.toDecimal(8)} are due`,
    );
  };

  // ==== SHA-256 (FIPS 180-4) =====================================================================

  const firstPrimes = (count) => {
    const primes = [];
    for (let x = 2; primes.length < count; x += 1) {
      if (primes.every((prime) => x % prime !== 0)) primes.push(x);
    }
    return primes;
  };

  /** The first 32 bits of the fractional part of the root of x of the given degree. */
  const rootBits = (x, degree) => {
    const scaled = BigInt(x) << BigInt(32 * degree);
    let root = 1n << 37n; // no root of the primes below 312 is as large as 2^5
    for (let step = 1n << 36n; step > 0n; step >>= 1n) {
      const low = root - step;
      if (low ** BigInt(degree) > scaled) root = low;
    }
    return Number((root - 1n) & 0xffffffffn);
  };

  const SHA_START = firstPrimes(8).map((prime) => rootBits(prime, 2));
  const SHA_ROUNDS = firstPrimes(64).map((prime) => rootBits(prime, 3));

  /** The SHA-256 digest of bytes, as 64 hexadecimal digits. */
  const sha256 = (bytes) => {
    const blocks = Math.ceil((bytes.length + 9) / 64);
    const padded = new Uint8Array(64 * blocks);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
    const rotate = (x, by) => (x >>> by) | (x << (32 - by));
    const state = SHA_START.slice();
    const words = new Array(64);
    for (let start = 0; start < padded.length; start += 64) {
      for (let i = 0; i < 16; i += 1) words[i] = view.getUint32(start + 4 * i);
      for (let i = 16; i < 64; i += 1) {
        const [x, y] = [words[i - 15], words[i - 2]];
        const small = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
        const large = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
        words[i] = (words[i - 16] + small + words[i - 7] + large) >>> 0;
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i += 1) {
        const mixedE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        const choice = (e & f) ^ (~e & g);
        const first = (h + mixedE + choice + SHA_ROUNDS[i] + words[i]) >>> 0;
        const mixedA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        const majority = (a & b) ^ (a & c) ^ (b & c);
        const second = (mixedA + majority) >>> 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => {
        state[i] = (state[i] + x) >>> 0;
      });
    }
    return state.map((x) => x.toString(16).padStart(8, "0")).join("");
  };

  // ==== appendix A: frozen lists =================================================================

  const words = (text) => text.split(" ");
  const RECIPES = words(
    "table module fashion-lenet-learned lenet-5 lenet-5-learned lenet-small " +
      "lenet-small-deskewed mlp-30 mlp-30-deskewed mlp-600 mlp-600-learned mlp-600x2 " +
      "vi-lenet-5 vi-lenet-5-cifar5 lenet-5-blocks lenet-lean mlp-600-blocks mlp-600x2-blocks " +
      "cifar-10-resnet-learned fashion-resnet-learned mnist-resnet-learned " +
      "mnist-resnet-wide-learned",
  );
  const NETWORKS = words("lenet mlp module resnet vgg");
  const INITIALIZERS = words("fan-in-uniform he-normal orthogonal xavier-uniform zeros");
  const INPUT_SCALES = words("0.25 0.5 1 1.5 2 3 4 8");
  const SMOOTHING_LENGTHS = words("0 0.5 0.75 1 1.25 1.5 2 3");
  const ALIGNMENTS = words("deskew none");
  const HIDDEN_BIASES = words("0 -0.5 -1 -2 -3 -4 -6 -8");
  const PRIOR_FRACTIONS = words("0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9");
  const VARIANCE_GROUPS = words("layer network");

  // A.10, kind `initialised`: network, initializer, input_scale, smoothing, alignment,
  // hidden_bias, widths.
  const INITIALISED_DEFAULTS = {
    "table": ["mlp", "zeros", "1", "0", "none", "0", []],
    "module": ["module", "fan-in-uniform", "1", "0", "none", "0", []],
    "lenet-5": ["lenet", "he-normal", "2", "0", "none", "-2", [20, 50, 500]],
    "lenet-small": ["lenet", "fan-in-uniform", "2", "0", "none", "0", [10, 20, 50]],
    "lenet-small-deskewed": ["lenet", "fan-in-uniform", "2", "0", "deskew", "0", [10, 20, 50]],
    "mlp-30": ["mlp", "fan-in-uniform", "1.5", "1", "none", "0", [30]],
    "mlp-30-deskewed": ["mlp", "fan-in-uniform", "1.5", "1", "deskew", "0", [30]],
    "mlp-600": ["mlp", "fan-in-uniform", "1.5", "1", "none", "-4", [600]],
    "mlp-600x2": ["mlp", "he-normal", "1.5", "1", "none", "-4", [600, 600]],
    "lenet-5-blocks": ["lenet", "he-normal", "2", "1", "none", "0", [20, 50, 500]],
    "lenet-lean": ["lenet", "fan-in-uniform", "2", "1", "none", "0", [6, 12]],
    "mlp-600-blocks": ["mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600]],
    "mlp-600x2-blocks": ["mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600, 600]],
  };
  const cut = (layer, ...sizes) => ({ layer, sizes });
  const DEFAULT_BLOCKS = {
    "lenet-5-blocks": ["-2", [cut(1, 8, 12), cut(2, 16, 34), cut(3, 20, 480)]],
    "mlp-600-blocks": ["-4", [cut(1, 30, 570)]],
    "mlp-600x2-blocks": ["-4", [cut(1, 30, 570), cut(2, 30, 570)]],
  };
  const DEFAULT_FRACTIONS = {
    "fashion-lenet-learned": "0.7",
    "cifar-10-resnet-learned": "0.8",
    "fashion-resnet-learned": "0.7",
    "mnist-resnet-wide-learned": "0.6",
  };

  /** The default choices of a recipe for a kind of prior, or null where there are none. */
  const defaultChoices = (recipe, kind) => {
    const always = { seed: 0, variance_groups: "layer", blocks: [] };
    if (kind === "learned") {
      const fraction = DEFAULT_FRACTIONS[recipe] ?? "0.5";
      return { ...always, prior_fraction: fraction, split_seed: 0 };
    }
    if (kind === "elsewhere") {
      return { ...always, initializer: recipe === "table" ? "zeros" : "fan-in-uniform" };
    }
    const row = INITIALISED_DEFAULTS[recipe];
    if (!row) return null;
    const [network, initializer, input_scale, smoothing, alignment, hidden_bias, widths] = row;
    const [later_bias, blocks] = DEFAULT_BLOCKS[recipe] ?? ["0", []];
    return {
      ...always,
      ...{ network, initializer, input_scale, smoothing, alignment, hidden_bias, widths },
      later_bias,
      blocks,
    };
  };

  // ==== 1 Reading ================================================================================

  const MAX_BYTES = 4194304;
  const MAX_DEPTH = 8;
  const FORMAT = "pacbound-certificate/2";

  const reading = (bytes) => {
    must("1.1", () => bytes.length <= MAX_BYTES, "the file has more than 4194304 bytes");

    let text;
    try {
      // Despite its name, ignoreBOM keeps a byte order mark in the text.
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new Rejection("1.2", "the bytes are not UTF-8");
    }

    must("1.3", () => nesting(text) <= MAX_DEPTH, "brackets are nested more than 8 deep");

    const { value, badNumber, repeatedName } = parse(text); // 1.4
    must("1.5", () => badNumber === null, () => `the number ${shown(badNumber)} is not allowed`);
    must("1.6", () => repeatedName === null, () => `two fields are named ${shown(repeatedName)}`);

    const found = isObject(value) && has(value, "format") ? value.format : null;
    must("1.7", () => found === FORMAT, `this is not a file of the format ${FORMAT}`);
    return value;
  };

  /** The largest count of open brackets outside strings; defined for any text. */
  const nesting = (text) => {
    let depth = 0;
    let deepest = 0;
    let inString = false;
    for (let i = 0; i < text.length; i += 1) {
      const character = text[i];
      if (inString) {
        if (character === "\\") i += 1;
        else if (character === '"') inString = false;
      } else if (character === '"') {
        inString = true;
      } else if (character === "{" || character === "[") {
        depth += 1;
        deepest = Math.max(deepest, depth);
      } else if (character === "}" || character === "]") {
        depth -= 1;
      }
    }
    return deepest;
  };

  /**
   * Read a text as JSON (RFC 8259). Also gives the first number that check 1.5 does not allow and
   * the first name that an object has twice, or null. JSON.parse would hide both.
   *
   * Objects have no prototype, so that names such as `__proto__` are names like any other.
   */
  const parse = (text) => {
    let place = 0;
    let badNumber = null;
    let repeatedName = null;

    const fail = (what) => {
      throw new Rejection("1.4", `not JSON: ${what} at character ${place}`);
    };
    const skipSpace = () => {
      while (" \t\n\r".includes(text[place] ?? "end")) place += 1;
    };
    const isDigit = () => text[place] >= "0" && text[place] <= "9";
    const skipDigits = () => {
      if (!isDigit()) fail("no digit");
      while (isDigit()) place += 1;
    };

    const readNumber = () => {
      const start = place;
      if (text[place] === "-") place += 1;
      if (text[place] === "0") place += 1;
      else skipDigits();
      if (text[place] === ".") {
        place += 1;
        skipDigits();
      }
      if (text[place] === "e" || text[place] === "E") {
        place += 1;
        if (text[place] === "+" || text[place] === "-") place += 1;
        skipDigits();
      }
      const literal = text.slice(start, place);
      if (badNumber === null && !isAllowedNumber(literal)) badNumber = literal;
      return Number(literal);
    };

    const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
    const readEscape = () => {
      const letter = text[place] ?? "";
      place += 1;
      if (letter === "u") {
        const digits = text.slice(place, place + 4);
        if (!/^[0-9A-Fa-f]{4}$/.test(digits)) fail("a bad escape");
        place += 4;
        return String.fromCharCode(parseInt(digits, 16));
      }
      if (!has(ESCAPES, letter)) fail("a bad escape");
      return ESCAPES[letter];
    };
    const readString = () => {
      place += 1;
      const parts = [];
      let start = place;
      for (;;) {
        if (place >= text.length) fail("a string without end");
        const character = text[place];
        if (character === '"') break;
        if (character < " ") fail("a control character in a string");
        place += 1;
        if (character === "\\") {
          parts.push(text.slice(start, place - 1), readEscape());
          start = place;
        }
      }
      parts.push(text.slice(start, place));
      place += 1;
      return parts.join("");
    };

    /** What is between brackets, separated by commas. */
    const readItems = (closing, readItem) => {
      place += 1;
      skipSpace();
      if (text[place] === closing) {
        place += 1;
        return;
      }
      for (;;) {
        skipSpace();
        readItem();
        skipSpace();
        if (text[place] === closing) break;
        if (text[place] !== ",") fail(`no comma and no ${closing}`);
        place += 1;
      }
      place += 1;
    };
    const readObject = () => {
      const object = Object.create(null);
      readItems("}", () => {
        if (text[place] !== '"') fail("no name");
        const name = readString();
        skipSpace();
        if (text[place] !== ":") fail("no colon");
        place += 1;
        skipSpace();
        const value = readValue();
        if (repeatedName === null && has(object, name)) repeatedName = name;
        object[name] = value;
      });
      return object;
    };
    const readArray = () => {
      const array = [];
      readItems("]", () => array.push(readValue()));
      return array;
    };
    // Check 1.3 has passed, so this recursion is at most 9 deep.
    const readValue = () => {
      const character = text[place];
      if (character === "{") return readObject();
      if (character === "[") return readArray();
      if (character === '"') return readString();
      if (character === "-" || isDigit()) return readNumber();
      for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
        if (text.startsWith(word, place)) {
          place += word.length;
          return value;
        }
      }
      return fail("no value");
    };

    skipSpace();
    const value = readValue();
    skipSpace();
    if (place < text.length) fail("something after the value");
    return { value, badNumber, repeatedName };
  };

  /** Check 1.5: an integer from −(2^53 − 1) to 2^53 − 1, without superfluous signs. */
  const isAllowedNumber = (literal) => {
    if (literal === "0") return true;
    // 17 characters hold every allowed number, and longer ones would be slow to compare.
    return (
      literal.length <= 17 &&
      /^-?[1-9][0-9]*$/.test(literal) &&
      Number.isSafeInteger(Number(literal))
    );
  };

  const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
  const isObject = (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value);

  // ==== 2 Shape ==================================================================================

  // A kind is a function of a value and the place where it is, which rejects what is not of the
  // kind. Kinds in tables may depend on `c`, the certificate: its fields before this one have
  // passed.

  const LONGEST_SHOWN = 60;
  /** A text of a hostile file as a part of a reason: short and printable. */
  const shown = (text) => {
    const points = Array.from(text.slice(0, 2 * LONGEST_SHOWN + 2));
    const cut = points.length > LONGEST_SHOWN;
    const printable = points.slice(0, LONGEST_SHOWN).map((x) => (isPrintable(x) ? x : "\ufffd"));
    return `"${printable.join("")}${cut ? "…" : ""}"`;
  };

  // With the flag u, D800–DFFF stands for lone surrogates only.
  const UNPRINTABLE = new RegExp(
    "[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u201c\\u201d\\u2028-\\u202e" +
      "\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e007f}]",
    "u",
  );
  const isPrintable = (value) => !UNPRINTABLE.test(value);

  const integer = (least, most) => (value, where) =>
    must(
      "2.4",
      () => typeof value === "number" && value >= least && value <= most,
      `${where} is not an integer from ${least} to ${most}`,
    );

  /** A decimal string: its grammar and a condition on its value. */
  const decimal = (name, grammar, condition = () => true) => (value, where) =>
    must(
      "2.5",
      () => typeof value === "string" && grammar.test(value) && condition(value),
      `${where} is not ${name}`,
    );
  const REAL = /^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?$/;
  const NATS = /^-?(0|[1-9][0-9]{0,14})\.[0-9]{6}$/;
  const isZero = (text) => !/[1-9]/.test(text);
  const isNegative = (text) => text.startsWith("-");
  const hasNoMinusZero = (text) => !(isZero(text) && isNegative(text));
  const isPositive = (text) => !isNegative(text) && !isZero(text);
  const isBelowHalf = (text) => Fraction.decimal(text).isBelow(new Fraction(1n, 2n));
  const isAtMostOne = (text) => new Fraction(1n).isAtLeast(Fraction.decimal(text));

  const real = decimal("a decimal string", REAL, hasNoMinusZero);
  const nonnegative = decimal("a decimal string of at least 0", REAL, (x) => !isNegative(x));
  const positive = decimal("a decimal string above 0", REAL, isPositive);
  const share = decimal(
    "a decimal string above 0 and below 0.5",
    REAL,
    (x) => isPositive(x) && isBelowHalf(x),
  );
  const rate = decimal("a rate with 10 decimals", /^(0\.[0-9]{10}|1\.0000000000)$/);
  const nats = decimal("a number of nats with 6 decimals", NATS, hasNoMinusZero);
  const threshold = decimal(
    "empty or a decimal string from 0 to 1",
    /^(|-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?)$/,
    (x) => x === "" || (!isNegative(x) && isAtMostOne(x)),
  );

  /** Whether a string has from `least` to `most` code points; a lone surrogate is one. */
  const hasPoints = (value, least, most) => {
    let count = 0;
    for (const _ of value) {
      count += 1;
      if (count > most) return false;
    }
    return count >= least;
  };
  const text = (least, most) => (value, where) =>
    must(
      "2.6",
      () => typeof value === "string" && hasPoints(value, least, most) && isPrintable(value),
      `${where} is not a text of ${least} to ${most} printable characters`,
    );
  const string = (least, most) => (value, where) =>
    must(
      "2.6",
      () => typeof value === "string" && hasPoints(value, least, most),
      `${where} is not a string of ${least} to ${most} characters`,
    );

  const digest = (value, where) =>
    must(
      "2.7",
      () => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
      `${where} is not a digest`,
    );
  const digestOrEmpty = (value, where) => {
    if (value !== "") digest(value, where);
  };

  const word = (...list) => (value, where) =>
    must("2.8", () => list.includes(value), `${where} is not one of ${list.join(", ")}`);

  const array = (least, most, kind) => (value, where, c) => {
    must(
      "2.9",
      () => Array.isArray(value) && value.length >= least && value.length <= most,
      `${where} is not an array of ${least} to ${most} elements`,
    );
    value.forEach((element, i) => kind(element, `${where}[${i}]`, c));
  };

  const map = (value, where) => {
    must("2.1", () => isObject(value), `${where} is not an object`);
    const names = Object.keys(value);
    must("2.10", () => names.length <= 300, `${where} has more than 300 entries`);
    for (const name of names) {
      must(
        "2.10",
        () => /^[A-Za-z0-9][A-Za-z0-9 _.:/+-]{0,59}$/.test(name),
        () => `${where} has an entry with the name ${shown(name)}`,
      );
    }
    for (const name of names) text(0, 2000)(value[name], `${where}.${name}`);
  };

  /**
   * An object with the fields of a table. A row is [name, kind] or [name, kind, onlyIf], where
   * onlyIf is a function of this object and the certificate.
   */
  const object = (rows) => (value, where, c) => {
    const path = (name) => (where === "" ? name : `${where}.${name}`);
    must("2.1", () => isObject(value), `${where || "the file"} is not an object`);
    const allowed = new Set();
    for (const [name, kind, onlyIf] of rows) {
      if (onlyIf && !onlyIf(value, c)) continue;
      must("2.2", () => has(value, name), `the field ${path(name)} is missing`);
      kind(value[name], path(name), c);
      allowed.add(name);
    }
    const unknown = Object.keys(value).find((name) => !allowed.has(name));
    must(
      "2.3",
      () => unknown === undefined,
      () => `${where || "the certificate"} may not have the field ${shown(unknown)}`,
    );
  };

  const SAMPLED = ["gibbs", "vote-gibbs", "vote-tandem"];
  const isSampled = (c) => SAMPLED.includes(c.predictor);
  const isFixed = (c) => c.predictor === "fixed";
  const isNotFixed = (_, c) => c.predictor !== "fixed";
  const MOST_EXAMPLES = 10000000;

  const SUBJECTS = words("all answered true-class predicted-class group");
  const LOSSES = words("zero-one abstention cost");
  const countsOrSamplesExamples = (claim, c) =>
    !isSampled(c) || claim.sampler === "per-example";

  const CLAIM = [
    ["subject", word(...SUBJECTS)],
    ["class", integer(0, 1000000), ({ subject }) => /^(true|predicted)-class$/.test(subject)],
    ["group", text(1, 60), (claim) => claim.subject === "group"],
    ["loss", word(...LOSSES)],
    ["cost", text(1, 60), (claim) => claim.loss === "cost"],
    ["cost_sha256", digest, (claim) => claim.loss === "cost"],
    ["m", integer(1, MOST_EXAMPLES)],
    ["delta", share],
    ["delta_risk", share, (_, c) => isSampled(c)],
    ["sampler", word("per-example", "per-weights"), (_, c) => isSampled(c)],
    // A claim of a counted predictor has no sampler that has passed a check: hence isSampled.
    ["draws", integer(1, 1e15), (claim, c) => isSampled(c) && claim.sampler === "per-example"],
    ["errors", integer(0, 1e15),
      (claim, c) => claim.loss !== "cost" && countsOrSamplesExamples(claim, c)],
    ["total", nonnegative,
      (claim, c) => claim.loss === "cost" && countsOrSamplesExamples(claim, c)],
    ["scale", integer(1, 1000000), (claim, c) => isSampled(c) && claim.sampler === "per-weights"],
    ["histogram", array(1, 1001, array(2, 2, integer(0, 1e15))),
      (claim, c) => isSampled(c) && claim.sampler === "per-weights"],
    ["limit_by", word("betting", "chernoff"),
      (claim, c) => isSampled(c) && claim.sampler === "per-weights"],
    ["empirical", rate],
    ["limit", rate, (_, c) => isSampled(c)],
    ["bound", rate],
  ];

  const DATA = [
    ["name", text(1, 200)],
    ["examples", integer(1, MOST_EXAMPLES)],
    ["m", integer(1, MOST_EXAMPLES)],
    ["classes", integer(2, 1000001)],
    ["sha256", digest],
    ["duplicates", integer(0, MOST_EXAMPLES)],
    ["copies", word("counted", "independent", "unknown")],
    ["groups_sha256", digestOrEmpty],
  ];

  const EXTRACTOR = [
    ["sha256", digest],
    ["origin", text(1, 200)],
  ];

  const MODEL = [
    ["source", word("centre", "estimator", "module", "onnx", "predictions"), (_, c) => isFixed(c)],
    ["recipe", word(...RECIPES), (model, c) => !isFixed(c) || model.source === "centre"],
    ["network", word(...NETWORKS), isNotFixed],
    ["structure_sha256", digestOrEmpty, isNotFixed],
    ["posterior", word("diag", "k-diag", "k-linear", "k-nonlinear"), isNotFixed],
    ["parameters", integer(1, 1e12), isNotFixed],
    ["frozen", integer(0, 1e12), isNotFixed],
    ["sha256", digest],
    ["extractors", array(0, 8, object(EXTRACTOR))],
    ["answer_above", threshold],
  ];

  const PART = [
    ["examples", integer(1, MOST_EXAMPLES)],
    ["sha256", digest],
  ];
  const VALIDATION = [
    ["examples", integer(0, MOST_EXAMPLES)],
    ["errors", integer(0, MOST_EXAMPLES)],
  ];
  const BLOCK = [
    ["layer", integer(1, 10000)],
    ["sizes", array(2, 20, integer(1, 10000000))],
  ];

  const priorIs = (...kinds) => (_, c) => kinds.includes(c.prior.kind);
  const CHOICES = [
    ["initializer", word(...INITIALIZERS), priorIs("initialised", "elsewhere")],
    ["seed", integer(0, 1000000000)],
    ["input_scale", word(...INPUT_SCALES), priorIs("initialised")],
    ["smoothing", word(...SMOOTHING_LENGTHS), priorIs("initialised")],
    ["alignment", word(...ALIGNMENTS), priorIs("initialised")],
    ["hidden_bias", word(...HIDDEN_BIASES), priorIs("initialised")],
    ["later_bias", word(...HIDDEN_BIASES), priorIs("initialised")],
    ["widths", array(0, 100, integer(1, 10000000)), priorIs("initialised")],
    ["prior_fraction", word(...PRIOR_FRACTIONS), priorIs("learned")],
    ["split_seed", integer(0, 1000000000), priorIs("learned")],
    ["variance_groups", word(...VARIANCE_GROUPS)],
    ["blocks", array(0, 100, object(BLOCK))],
  ];

  const VARIANCE = [
    ["name", text(1, 200)],
    ["parameters", integer(1, 1e12)],
    ["by", word("grid", "given")],
    ["index", integer(1, 10000), (variance) => variance.by === "grid"],
    ["value", positive, (variance) => variance.by === "given"],
  ];

  const priorKind = (value, where, c) => {
    const kinds = isFixed(c) ? ["none", "learned"] : ["initialised", "learned", "elsewhere"];
    word(...kinds)(value, where);
  };
  const PRIOR = [
    ["kind", priorKind],
    ["sha256", digest, isNotFixed],
    ["origin", text(1, 200), priorIs("elsewhere")],
    ["part", object(PART), priorIs("learned")],
    ["validation", object(VALIDATION),
      (prior, c) => !isFixed(c) && priorIs("learned", "elsewhere")(prior, c)],
    ["choices", object(CHOICES), (prior) => prior.kind !== "none"],
    ["variances", array(1, 2000, object(VARIANCE)), isNotFixed],
  ];

  const TRIED = [
    ["candidates", integer(1, 1000000000)],
    ["looks", integer(0, 1000000)],
  ];
  const CERTIFICATES = [
    ["counted", word("declared", "place")],
    ["number", integer(1, 1000000000)],
  ];
  const LEDGER = [
    ["recipe", object(TRIED)],
    ["user", object(TRIED)],
    ["certificates", object(CERTIFICATES)],
  ];

  const evidenceIs = (...kinds) => (_, c) => kinds.includes(c.evidence.kind);
  const GROUP = [
    ["trace", positive, evidenceIs("exact")],
    ["mean_square", positive, evidenceIs("monte-carlo")],
    ["distance_sq", nonnegative, evidenceIs("exact", "drawn")],
    ["lipschitz", positive, evidenceIs("monte-carlo")],
    ["offset", nonnegative, evidenceIs("monte-carlo")],
    ["noise_sq", nonnegative, evidenceIs("drawn")],
    ["log_det", real],
  ];
  const evidenceKind = (value, where, c) => {
    const kinds = c.predictor === "draw" ? ["drawn"] : ["exact", "monte-carlo"];
    word(...kinds)(value, where);
  };
  const EVIDENCE = [
    ["kind", evidenceKind],
    ["weights_sha256", digest, evidenceIs("drawn")],
    ["delta_kl", share, evidenceIs("monte-carlo")],
    ["tail", word("gaussian", "theorem3"), evidenceIs("monte-carlo")],
    ["samples", integer(1, 1000000000), evidenceIs("monte-carlo")],
    ["groups", array(1, 2000, object(GROUP))],
    ["nats", nats],
  ];

  const BOUND = [
    ["inequality", word("mcallester", "maurer", "xi", "catoni", "binomial", "density")],
    ["selected", word("rule", "beforehand", "candidate")],
    ["code", nats],
    ["ledger", nats],
  ];

  const ALSO_KINDS = words("inequality held-out theorem3");
  const ALSO_NAMES = words("mcallester maurer xi catoni pinsker binomial density");
  const alsoIs = (kind) => (entry) => entry.kind === kind;
  const ALSO = [
    ["kind", word(...ALSO_KINDS)],
    ["name", word(...ALSO_NAMES), alsoIs("inequality")],
    ["value", rate, alsoIs("inequality")],
    ["examples", integer(1, MOST_EXAMPLES), alsoIs("held-out")],
    ["errors", integer(0, MOST_EXAMPLES), alsoIs("held-out")],
    ["upper", rate, alsoIs("held-out")],
    ["nats", nats, alsoIs("theorem3")],
  ];

  const SEEDS = [
    ["draw", digest, (_, c) => c.predictor === "draw"],
    ["risk", digest, (_, c) => isSampled(c)],
    ["kl", digest, evidenceIs("monte-carlo")],
  ];

  const MADE = [
    ["date", text(0, 40)],
    ["command", text(0, 2000)],
    ["training_command", text(0, 2000)],
    ["software", map],
    ["machine", map],
    ["prior", map],
    ["times", map],
    ["settings", map],
  ];

  const CERTIFICATE = [
    ["format", word(FORMAT)],
    ["sentence", string(1, 20000)],
    ["predictor", word("gibbs", "draw", "vote-gibbs", "vote-tandem", "fixed")],
    ["delta", share],
    ["claims", array(1, 2001, object(CLAIM))],
    ["data", object(DATA)],
    ["model", object(MODEL)],
    ["prior", object(PRIOR)],
    ["ledger", object(LEDGER)],
    ["evidence", object(EVIDENCE), isNotFixed],
    ["bound", object(BOUND)],
    ["also", array(0, 20, object(ALSO))],
    ["seeds", object(SEEDS), isNotFixed],
    ["made", object(MADE)],
  ];

  const shape = (c) => object(CERTIFICATE)(c, "", c);

  // ==== 3 Data ===================================================================================

  const data = (c) => {
    const { examples, duplicates, copies, m } = c.data;
    const part = c.prior.kind === "learned" ? c.prior.part.examples : 0;
    must("3.1", () => duplicates < examples, "there are as many copies as examples");
    must(
      "3.2",
      () => copies !== "counted" || 100 * duplicates <= examples,
      "more than 1 % of the examples are copies, and nothing is declared about them",
    );
    must(
      "3.3",
      () =>
        copies !== "unknown" ||
        (duplicates === 0 && isFixed(c) && c.model.source === "predictions"),
      "copies can be unknown only for a file of predictions, and then none are counted",
    );
    must(
      "3.4",
      () => {
        if (c.prior.kind !== "learned") return true;
        const { n, d } = Fraction.decimal(c.prior.choices.prior_fraction)
          .times(examples)
          .plus(new Fraction(1n, 2n));
        return BigInt(part) === n / d;
      },
      "the prior's part is not its fraction of the examples",
    );
    must(
      "3.5",
      () => m === examples - part,
      () => `${m} examples are counted, not ${examples - part}`,
    );
  };

  // ==== 4 Model and prior ========================================================================

  const modelAndPrior = (c) => {
    const { model, prior, evidence } = c;
    const { validation, choices, variances = [] } = prior;
    must(
      "4.1",
      () => isFixed(c) || (model.structure_sha256 !== "") === (model.network === "module"),
      "a structure has a digest if and only if the network is a module",
    );
    must(
      "4.2",
      () => !isFixed(c) || (model.source === "centre") === (prior.kind === "learned"),
      "a fixed predictor is the centre of a prior if and only if the prior was learned",
    );
    must(
      "4.3",
      () => model.answer_above === "" || !isSampled(c),
      "only a draw or a fixed predictor can abstain",
    );
    must(
      "4.4",
      () =>
        !isSampled(c) ||
        (evidence.kind === "monte-carlo") === (model.posterior === "k-nonlinear"),
      "the divergence is estimated if and only if the posterior is k-nonlinear",
    );
    must(
      "4.5",
      () => !validation || validation.errors <= validation.examples,
      "the validation has more errors than examples",
    );
    must(
      "4.6",
      () =>
        !(validation && prior.kind === "learned") || validation.examples <= prior.part.examples,
      "the validation has more examples than the prior's part",
    );
    must(
      "4.7",
      () => prior.kind !== "initialised" || variances.every(({ by }) => by === "grid"),
      "an initialised prior has a variance that is not on the grid",
    );
    must(
      "4.8",
      () => new Set(variances.map(({ name }) => name)).size === variances.length,
      "two variances have the same name",
    );
    must(
      "4.9",
      () =>
        isFixed(c) ||
        variances.reduce((count, { parameters }) => count + parameters, 0) === model.parameters,
      "the parameters of the variances do not add up to those of the model",
    );
    must(
      "4.10",
      () => isFixed(c) || evidence.groups.length === variances.length,
      "the evidence does not have one group for each variance",
    );
    must(
      "4.11",
      () =>
        variances.length <= 1 ||
        choices.variance_groups !== "network" ||
        choices.blocks.length > 0,
      "one variance for the network is declared, and there are several",
    );
    must(
      "4.12",
      () => !choices || risesStrictly(choices.blocks.map(({ layer }) => layer)),
      "the layers of the blocks do not rise",
    );
  };

  const risesStrictly = (numbers) => numbers.every((x, i) => i === 0 || numbers[i - 1] < x);

  // ==== 5 Claims =================================================================================

  const isClaimAllowed = (predictor, subject, loss) => {
    const ofMembers = ["all", "true-class", "group"].includes(subject);
    switch (predictor) {
      case "draw":
      case "fixed":
        return loss !== "abstention" || subject === "all";
      case "gibbs":
        return loss !== "abstention" && ofMembers;
      default: // votes
        return loss === "zero-one" && ofMembers;
    }
  };

  /** Negative, 0 or positive, by code points; JavaScript itself compares UTF-16 units. */
  const compareText = (a, b) => {
    const [left, right] = [a, b].map((x) => Array.from(x, (y) => y.codePointAt(0)));
    for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
      if (left[i] !== right[i]) return left[i] - right[i];
    }
    return left.length - right.length;
  };

  /** The order of two claims by (subject, loss, cost, class, group). */
  const compareClaims = (a, b) =>
    SUBJECTS.indexOf(a.subject) - SUBJECTS.indexOf(b.subject) ||
    LOSSES.indexOf(a.loss) - LOSSES.indexOf(b.loss) ||
    compareText(a.cost ?? "", b.cost ?? "") ||
    (a.class ?? 0) - (b.class ?? 0) ||
    compareText(a.group ?? "", b.group ?? "");

  /** Consecutive claims with the same subject, loss and cost. */
  const families = (claims) => {
    const found = [];
    for (const claim of claims) {
      const last = found.length > 0 ? found[found.length - 1] : [];
      const isKin =
        last.length > 0 &&
        ["subject", "loss", "cost"].every((field) => last[0][field] === claim[field]);
      if (isKin) last.push(claim);
      else found.push([claim]);
    }
    return found;
  };

  const claims = (c) => {
    const forEachClaim = (check, condition, reason) =>
      c.claims.forEach((claim, i) =>
        must(check, () => condition(claim, i), `claim ${i + 1}: ${reason}`),
      );
    const total = (family) => family.reduce((count, { m }) => count + m, 0);
    const familiesOf = (subject) =>
      families(c.claims).filter(([first]) => first.subject === subject);

    forEachClaim(
      "5.1",
      ({ subject, loss }) => isClaimAllowed(c.predictor, subject, loss),
      `the predictor ${c.predictor} has no claim of this subject and loss`,
    );
    forEachClaim(
      "5.2",
      ({ subject, loss }) =>
        !(subject === "answered" || loss === "abstention") || c.model.answer_above !== "",
      "the predictor always answers",
    );
    forEachClaim(
      "5.3",
      (claim) => claim.class === undefined || claim.class < c.data.classes,
      "there is no such class",
    );
    forEachClaim(
      "5.4",
      (claim, i) => i === 0 || compareClaims(c.claims[i - 1], claim) < 0,
      "it is not after the claim before it in the order of claims",
    );
    forEachClaim(
      "5.5",
      ({ subject, m }) => (subject === "all" ? m === c.data.m : m <= c.data.m),
      "its examples are not those that are counted",
    );
    // 5.4 has passed, so the claims of a family are consecutive and their classes distinct.
    for (const family of familiesOf("true-class")) {
      must(
        "5.6",
        () =>
          total(family) <= c.data.m &&
          (family.length < c.data.classes || total(family) === c.data.m),
        "the examples of the true classes do not add up to the counted ones",
      );
    }
    for (const family of familiesOf("group")) {
      must(
        "5.7",
        () => total(family) <= c.data.m,
        "the groups have more examples than are counted",
      );
    }
    must(
      "5.8",
      () =>
        (c.data.groups_sha256 !== "") === c.claims.some(({ subject }) => subject === "group"),
      "groups have a digest if and only if there are claims about them",
    );
    forEachClaim(
      "5.9",
      ({ sampler }) =>
        sampler !== "per-example" ||
        (["mlp", "module"].includes(c.model.network) && c.model.posterior !== "k-nonlinear"),
      "this network or posterior cannot draw weights for every example",
    );
  };

  // ==== 6 The budget =============================================================================

  const budget = (c) => {
    const shares = c.claims.flatMap(({ delta, delta_risk }) => [delta, delta_risk]);
    shares.push(c.evidence?.delta_kl);
    const total = shares
      .filter((x) => x !== undefined)
      .reduce((count, x) => count.plus(Fraction.decimal(x)), new Fraction(0n));
    must(
      "6.1",
      () => total.equals(Fraction.decimal(c.delta)),
      () => `the shares add up to ${exactDecimal(total)}, not to ${c.delta}`,
    );
  };

  /** A fraction whose denominator is a power of ten, as a decimal. */
  const exactDecimal = ({ n, d }) => {
    const places = d.toString().length - 1;
    const digits = n.toString().padStart(places + 1, "0");
    const whole = digits.slice(0, digits.length - places);
    const rest = digits.slice(digits.length - places).replace(/0+$/, "");
    return rest === "" ? whole : `${whole}.${rest}`;
  };

  // ==== 7 Seeds ==================================================================================

  const seed = (c, purpose) => {
    const digests = `${c.model.sha256} ${c.prior.sha256} ${c.data.sha256}`;
    return sha256(new TextEncoder().encode(`pacbound-seed/2 ${purpose} ${digests}\n`));
  };

  const seeds = (c) => {
    for (const [check, purpose] of [["7.1", "draw"], ["7.2", "risk"], ["7.3", "kl"]]) {
      const found = c.seeds?.[purpose];
      must(
        check,
        () => found === undefined || found === seed(c, purpose),
        `seeds.${purpose} does not follow from the digests`,
      );
    }
  };

  // ==== 8 Code and ledger ========================================================================

  const TUPLES = {
    initialised: words(
      "network initializer seed input_scale smoothing alignment hidden_bias later_bias widths " +
        "variance_groups blocks",
    ),
    learned: words("seed prior_fraction split_seed variance_groups blocks"),
    elsewhere: words("initializer seed variance_groups blocks"),
  };

  const inList = (list) => (value) => cost(list.indexOf(value) + 1);
  const costOfBlock = ({ layer, sizes }) =>
    sum([cost(layer), cost(sizes.length - 1), ...sizes.slice(0, -1).map(cost)]);
  const ENTRY_COSTS = {
    network: inList(NETWORKS),
    initializer: inList(INITIALIZERS),
    seed: (value) => cost(value + 1),
    input_scale: inList(INPUT_SCALES),
    smoothing: inList(SMOOTHING_LENGTHS),
    alignment: inList(ALIGNMENTS),
    hidden_bias: inList(HIDDEN_BIASES),
    later_bias: inList(HIDDEN_BIASES),
    widths: (value) => sum([cost(value.length + 1), ...value.map(cost)]),
    prior_fraction: inList(PRIOR_FRACTIONS),
    split_seed: (value) => cost(value + 1),
    variance_groups: inList(VARIANCE_GROUPS),
    blocks: (value) => sum([cost(value.length + 1), ...value.map(costOfBlock)]),
  };

  /** Whether two values of one entry are equal: words, numbers, and lists of numbers or blocks. */
  const areEqual = (a, b) => {
    if (Array.isArray(a)) return a.length === b.length && a.every((x, i) => areEqual(x, b[i]));
    if (typeof a === "object") return a.layer === b.layer && areEqual(a.sizes, b.sizes);
    return a === b;
  };

  /** The cost of a tuple of choices in nats; `choices` has the entries of the tuple. */
  const costOfChoices = (recipe, kind, choices) => {
    const usual = defaultChoices(recipe, kind);
    const fields = TUPLES[kind];
    if (usual && fields.every((field) => areEqual(choices[field], usual[field]))) {
      return ln(new Fraction(10n, 9n));
    }
    return ln(10).plus(sum(fields.map((field) => ENTRY_COSTS[field](choices[field]))));
  };

  const costOfVariances = ({ variances = [] }) =>
    sum(variances.filter(({ by }) => by === "grid").map(({ index }) => cost(index)));

  const code = (c) => {
    const { kind, choices } = c.prior;
    let total = costOfVariances(c.prior);
    if (kind === "initialised") total = total.plus(inList(RECIPES)(c.model.recipe));
    if (kind !== "none") {
      const entries = { network: c.model.network, ...choices };
      total = total.plus(costOfChoices(c.model.recipe, kind, entries));
    }
    return total;
  };

  /** ln F: the logarithm of the number of certificates, or of the weight of this one's place. */
  const lnCertificates = ({ certificates: { counted, number } }) =>
    counted === "declared" ? ln(number) : cost(number);

  const costOfLedger = ({ recipe, user }) =>
    ln(BigInt(recipe.candidates) * BigInt(user.candidates)).plus(
      ln(2).times(recipe.looks + user.looks),
    );

  const codeAndLedger = (c) => {
    mustBeDueNats("8.1", "bound.code", c.bound.code, code(c));
    const tried = costOfLedger(c.ledger);
    const due = isSampled(c) ? tried : tried.plus(lnCertificates(c.ledger));
    mustBeDueNats("8.2", "bound.ledger", c.bound.ledger, due);
  };

  // ==== 9 Divergence =============================================================================

  /** λ of an entry of prior.variances. */
  const variance = ({ by, index, value }) =>
    by === "grid"
      ? Interval.of(new Fraction(BigInt(-index), 100n)).exp().over(10)
      : Interval.of(Fraction.decimal(value));

  /** The upper limit T of the second moment of a group whose moment was estimated. */
  const momentLimit = (tail, group, d, samples, level) => {
    const meanSquare = Fraction.decimal(group.mean_square);
    const lipschitz = Interval.of(Fraction.decimal(group.lipschitz));
    if (tail === "gaussian") {
      const deviation = lipschitz.times(level.times(2).over(samples).root());
      return sqrt(meanSquare).plus(deviation).squared().plus(lipschitz.squared().over(samples));
    }
    const norm = lipschitz.times(sqrt(d)).plus(Fraction.decimal(group.offset));
    const constant = sqrt(6).times(lipschitz).plus(norm.over(sqrt(ln(2)))).squared();
    const rest = level.plus(level.squared().plus(level.times(8 * samples)).root());
    return constant.times(rest).over(samples).plus(meanSquare);
  };

  /** The part of one group: ½[T/λ − s + d ln λ] − ln|det|. */
  const divergenceOfGroup = (moment, lambda, s, d, logDet) =>
    moment
      .over(lambda)
      .minus(s)
      .plus(lambda.ln().times(d))
      .over(2)
      .minus(Fraction.decimal(logDet));

  /** The terms of 9.4, one for each group; `tail` is that of the evidence, or theorem3 for 12.6. */
  const divergencesOfGroups = (c, tail) => {
    const { kind, groups, samples, delta_kl } = c.evidence;
    const shareOfGroup = () => Fraction.decimal(delta_kl).over(groups.length);
    const level =
      kind === "monte-carlo" ? lnCertificates(c.ledger).minus(ln(shareOfGroup())) : null;
    return groups.map((group, i) => {
      const { parameters: d, ...how } = c.prior.variances[i];
      let moment;
      let s = d;
      if (kind === "exact") {
        const trace = Fraction.decimal(group.trace);
        moment = Interval.of(trace.plus(Fraction.decimal(group.distance_sq)));
      } else if (kind === "drawn") {
        moment = Interval.of(Fraction.decimal(group.distance_sq));
        s = Fraction.decimal(group.noise_sq);
      } else {
        moment = momentLimit(tail, group, d, samples, level);
      }
      return divergenceOfGroup(moment, variance(how), s, d, group.log_det);
    });
  };

  const divergence = (c, tail) => sum(divergencesOfGroups(c, tail));

  const divergences = (c) => {
    if (isFixed(c)) return;
    const { kind, groups } = c.evidence;
    const forEachGroup = (check, ofKind, condition, reason) => {
      if (kind !== ofKind) return;
      groups.forEach((group, i) =>
        must(
          check,
          () => condition(group, c.prior.variances[i].parameters),
          `group ${i + 1}: ${reason}`,
        ),
      );
    };
    const tolerance = (d) => new Fraction(BigInt(d), 10n ** 9n);
    const deviation = (d) => sqrt(200n * BigInt(d));

    forEachGroup(
      "9.1",
      "exact",
      ({ log_det, trace }, d) => {
        const most = ln(Fraction.decimal(trace).over(d)).times(d).over(2).plus(tolerance(d));
        return isAtMost(Fraction.decimal(log_det), most);
      },
      "no covariance with this trace has so large a determinant",
    );
    forEachGroup(
      "9.2",
      "monte-carlo",
      ({ log_det, lipschitz }, d) => {
        const most = ln(Fraction.decimal(lipschitz)).times(d).plus(tolerance(d));
        return isAtMost(Fraction.decimal(log_det), most);
      },
      "no map with this Lipschitz constant has so large a determinant",
    );
    forEachGroup(
      "9.3",
      "drawn",
      ({ noise_sq }, d) => {
        const noise = Fraction.decimal(noise_sq);
        return (
          isAtMost(Interval.of(d).minus(deviation(d)), noise) &&
          isAtMost(noise, deviation(d).plus(d).plus(100))
        );
      },
      "no random draw has such a norm",
    );
    const parts = divergencesOfGroups(c, c.evidence.tail);
    mustBeDueNats("9.4", "evidence.nats", c.evidence.nats, sum(parts));
    must(
      "9.5",
      () => {
        if (kind !== "drawn") return true;
        const total = costOfVariances(c.prior).plus(Fraction.decimal(c.evidence.nats));
        return isAtMost(-50, total);
      },
      "no random draw has so small a density ratio",
    );
    if (kind === "drawn") return;
    parts.forEach((part, i) =>
      must("9.6", () => isAtMost(0, part.plus(NATS_UNIT)), `group ${i + 1}: its KL is negative`),
    );
  };

  // ==== 10 Counts and limits =====================================================================

  const roundedDown = ({ n, d }, places) => withPlaces((n * 10n ** BigInt(places)) / d, places);

  /** How many losses the errors or the total of a claim are the sum of. */
  const judged = (claim) => (claim.sampler === "per-example" ? claim.draws : claim.m);

  /** The number of draws of the weights. */
  const drawsOfWeights = ({ histogram }) =>
    histogram.reduce((count, [, times]) => count + BigInt(times), 0n);

  /** The exact mean loss x̄ of a claim. */
  const meanLoss = (claim) => {
    if (claim.errors !== undefined) return Fraction.of(claim.errors).over(judged(claim));
    if (claim.total !== undefined) return Fraction.decimal(claim.total).over(judged(claim));
    const weighted = claim.histogram.reduce((total, [v, t]) => total + BigInt(v) * BigInt(t), 0n);
    return new Fraction(weighted, BigInt(claim.scale) * drawsOfWeights(claim));
  };

  /** The logarithm of the wealth of a gambler at p, who bets all on every draw. */
  const lnWealth = ({ histogram, scale }, p) =>
    sum(
      histogram.map(([v, t]) =>
        ln(p.plus(1).minus(new Fraction(BigInt(v), BigInt(scale)))).times(t),
      ),
    );

  const bettingSound = (claim, level, p) => {
    if (p.isAtLeast(1)) return true;
    if (p.isBelow(0)) return false;
    const most = p.plus(1).times(claim.scale);
    if (!claim.histogram.every(([v]) => Fraction.of(v).isBelow(most))) return false;
    return isAtMost(level, lnWealth(claim, p));
  };

  /** sound(p) of the Monte Carlo limit of a claim. */
  const limitSound = (c, claim, p) => {
    const level = lnCertificates(c.ledger).minus(ln(Fraction.decimal(claim.delta_risk)));
    if (claim.limit_by === "betting") return bettingSound(claim, level, p);
    const draws = claim.sampler === "per-example" ? claim.draws : drawsOfWeights(claim);
    return klSound(meanLoss(claim), level.over(draws), p);
  };

  /** 10.8: the right and the wrong ones of classes and groups are some of those over all. */
  const countsAgree = (c) => {
    const judgedClaims = c.claims.filter(({ loss }) => loss === "zero-one");
    const all = judgedClaims.find(({ subject }) => subject === "all");
    const wrongOfAll = all ? all.errors : 0;
    for (const subject of ["true-class", "predicted-class", "group"]) {
      const family = judgedClaims.filter((claim) => claim.subject === subject);
      const right = family.reduce((count, { m, errors }) => count + (m - errors), 0);
      const wrong = family.reduce((count, { errors }) => count + errors, 0);
      must(
        "10.8",
        () => right <= c.data.m - wrongOfAll,
        `${subject}: more right predictions than there are over all`,
      );
      must(
        "10.8",
        () => !all || subject === "predicted-class" || wrong <= wrongOfAll,
        `${subject}: more errors than there are over all`,
      );
    }
  };

  const countsAndLimits = (c) => {
    const forEachClaim = (check, condition, reason) =>
      c.claims.forEach((claim, i) =>
        must(check, () => condition(claim), () => `claim ${i + 1}: ${reason(claim)}`),
      );
    forEachClaim(
      "10.1",
      (claim) => claim.errors === undefined || claim.errors <= judged(claim),
      (claim) => `${claim.errors} errors in ${judged(claim)}`,
    );
    forEachClaim(
      "10.2",
      (claim) =>
        claim.total === undefined ||
        Fraction.of(judged(claim)).isAtLeast(Fraction.decimal(claim.total)),
      (claim) => `a total cost of ${claim.total} in ${judged(claim)}`,
    );
    forEachClaim(
      "10.3",
      ({ sampler, draws, m }) => sampler !== "per-example" || draws % m === 0,
      () => "the examples are not drawn equally often",
    );
    forEachClaim(
      "10.4",
      ({ sampler, scale, histogram }) =>
        sampler !== "per-weights" ||
        (risesStrictly(histogram.map(([v]) => v)) &&
          histogram.every(([v, t]) => v <= scale && t >= 1)),
      () => "the histogram does not rise up to its scale with counts of at least 1",
    );
    forEachClaim(
      "10.5",
      (claim) => {
        const [empirical, mean] = [Fraction.decimal(claim.empirical), meanLoss(claim)];
        return empirical.isAtLeast(mean) && empirical.isBelow(mean.plus(twice(RATE_UNIT)));
      },
      (claim) => `the mean loss is ${roundedDown(meanLoss(claim), 12)}…, not ${claim.empirical}`,
    );
    if (!isSampled(c)) {
      countsAgree(c);
      return;
    }
    forEachClaim(
      "10.6",
      (claim) => limitSound(c, claim, Fraction.decimal(claim.limit)),
      (claim) => `the limit ${claim.limit} is too small`,
    );
    forEachClaim(
      "10.7",
      (claim) => !limitSound(c, claim, Fraction.decimal(claim.limit).minus(twice(RATE_UNIT))),
      (claim) => `the limit ${claim.limit} is larger than rounding explains`,
    );
  };

  // ==== 11 Bounds ================================================================================

  const hasValidation = (c) => (c.prior.validation?.examples ?? 0) >= 1;

  const inequalityOfRule = (c) => {
    if (isFixed(c)) return "binomial";
    if (c.predictor === "draw") return c.prior.kind === "initialised" ? "density" : "binomial";
    return hasValidation(c) ? "catoni" : "xi";
  };

  const inequalitiesAllowed = (c) => {
    if (isFixed(c)) return ["binomial"];
    if (c.predictor === "draw") return ["binomial", "density"];
    return ["mcallester", "maurer", "xi", "catoni"];
  };

  /** The factor φ and the number of networks ν. */
  const voteFactors = ({ predictor }) => {
    if (predictor === "vote-gibbs") return [2, 1];
    if (predictor === "vote-tandem") return [4, 2];
    return [1, 1];
  };

  /** N, the nats that the inequality pays for. */
  const paidNats = (c) => {
    const paid = Fraction.decimal(c.bound.code).plus(Fraction.decimal(c.bound.ledger));
    if (isFixed(c)) return paid;
    return Fraction.decimal(c.evidence.nats).times(voteFactors(c)[1]).plus(paid);
  };

  /** A + 2 ln A with A = ln(e^x + e), the price of a density ratio e^x in the binomial bound. */
  const drawPrice = (x) => {
    const top = Fraction.of(x).isAtLeast(1) ? x : new Fraction(1n);
    const gap = Fraction.of(x).isAtLeast(1) ? Fraction.of(x).minus(1) : new Fraction(1n).minus(x);
    const a = Interval.of(gap).times(-1).exp().plus(1).ln().plus(top);
    return a.plus(a.ln().times(2));
  };

  /** ℓ of the binomial bound. */
  const binomialLevel = (c, delta) => {
    const code = Fraction.decimal(c.bound.code);
    const level = ln(Fraction.decimal(delta)).times(-1).plus(Fraction.decimal(c.bound.ledger));
    if (isFixed(c)) return level.plus(code);
    return level.plus(drawPrice(Fraction.decimal(c.evidence.nats).plus(code)));
  };

  /** λ of Catoni's bound, from the validation of the prior, with what it follows from. */
  const catoniParameter = ({ errors, examples }, m, delta) => {
    const q0 = new Fraction(2n * BigInt(errors) + 1n, 2n * BigInt(examples) + 2n);
    const c0 = Interval.of(3).minus(ln(delta)).over(m);
    const far = c0.times(q0).times(2).root().plus(q0).plus(c0);
    const p0 = far.min(Interval.of(q0.plus(1).over(2)));
    const odds = p0.times(new Fraction(1n).minus(q0)).over(Interval.of(1).minus(p0).times(q0));
    return { q0, c0, p0, lambda: odds.ln() };
  };

  /** c of the inequalities that bound kl(q‖p), or null where m is too small for one. */
  const klComplexity = (inequality, paid, m, delta) => {
    const lnDelta = ln(delta);
    const overM = (constant) => constant.minus(lnDelta).plus(paid).over(m);
    switch (inequality) {
      case "xi":
      case "density":
        return overM(maurerConstant(m).ln());
      case "maurer":
        return overM(sqrt(m).times(2).ln());
      case "mcallester":
        return m === 1 ? null : ln(m).minus(lnDelta).plus(paid).over(m - 1);
      default:
        throw new TypeError(inequality);
    }
  };

  /** sound(p) of an inequality for a claim. */
  const boundSound = (c, claim, inequality, p) => {
    if (p.isAtLeast(1)) return true;
    if (p.isBelow(0)) return false;
    const { m } = claim;
    const delta = Fraction.decimal(claim.delta);
    const q = isSampled(c) ? Fraction.decimal(claim.limit) : meanLoss(claim);
    const [factor] = voteFactors(c);
    if (inequality === "binomial") {
      const level = binomialLevel(c, claim.delta);
      if (claim.loss === "cost") return klSound(q, level.over(m), p);
      return binomialSound(claim.errors, m, level, p);
    }
    if (inequality === "catoni") {
      const { lambda } = catoniParameter(c.prior.validation, m, delta);
      return catoniSound(lambda, q, paidNats(c), m, delta, factor, p);
    }
    if (inequality === "pinsker") {
      const complexity = klComplexity("mcallester", paidNats(c), m, delta);
      if (complexity === null) return false;
      const risk = complexity.max(0).over(2).root().plus(q);
      return isAtMost(risk.times(factor), p);
    }
    const complexity = klComplexity(inequality, paidNats(c), m, delta);
    return complexity !== null && klSound(q, complexity, p.over(factor));
  };

  /** p ≥ φ(1 − exp(−λq − (N + ln(1/δ))/m))/(1 − exp(−λ)), for p ≥ 0. */
  const catoniSound = (lambda, q, paid, m, delta, factor, p) => {
    const exponent = lambda.times(q).plus(Interval.of(paid).minus(ln(delta)).over(m));
    if (exponent.hi <= 0n) return true; // the right side is at most 0
    const one = Interval.of(1);
    const above = one.minus(exponent.times(-1).exp());
    const below = one.minus(lambda.times(-1).exp());
    return isAtMost(above.over(below).times(factor), p);
  };

  const bounds = (c) => {
    const { inequality, selected } = c.bound;
    must(
      "11.1",
      () => inequalitiesAllowed(c).includes(inequality),
      `the inequality ${inequality} does not hold for the predictor ${c.predictor}`,
    );
    must(
      "11.2",
      () => inequality !== "catoni" || hasValidation(c),
      "catoni needs a validation of at least 1 example",
    );
    must(
      "11.3",
      () => (selected === "rule") === (inequality === inequalityOfRule(c)),
      () => `the rule gives ${inequalityOfRule(c)}; this is ${inequality}, selected by ${selected}`,
    );
    must(
      "11.4",
      () => selected !== "candidate" || c.ledger.user.candidates >= 2,
      "an inequality was chosen among candidates, and the ledger has one candidate",
    );
    const unit = twice(RATE_UNIT);
    c.claims.forEach((claim, i) =>
      must(
        "11.5",
        () => boundSound(c, claim, inequality, Fraction.decimal(claim.bound)),
        `claim ${i + 1}: the bound ${claim.bound} is too small`,
      ),
    );
    c.claims.forEach((claim, i) =>
      must(
        "11.6",
        () => !boundSound(c, claim, inequality, Fraction.decimal(claim.bound).minus(unit)),
        `claim ${i + 1}: the bound ${claim.bound} is larger than rounding explains`,
      ),
    );
  };

  // ==== 12 Also ==================================================================================

  const isAlsoAllowed = (c, { kind, name }) => {
    if (kind === "held-out") return !c.predictor.startsWith("vote-");
    if (kind === "theorem3") return c.evidence?.kind === "monte-carlo";
    if (isFixed(c)) return false;
    if (c.predictor === "draw") return ["binomial", "density"].includes(name);
    if (name === "catoni") return hasValidation(c);
    return ["mcallester", "maurer", "xi", "pinsker"].includes(name);
  };

  const compareAlso = (a, b) =>
    ALSO_KINDS.indexOf(a.kind) - ALSO_KINDS.indexOf(b.kind) ||
    ALSO_NAMES.indexOf(a.name) - ALSO_NAMES.indexOf(b.name);

  const also = (c) => {
    const ofKind = (kind) => c.also.filter((entry) => entry.kind === kind);
    const isDueRate = (value, sound) =>
      sound(Fraction.decimal(value)) &&
      !sound(Fraction.decimal(value).minus(twice(RATE_UNIT)));

    c.also.forEach((entry, i) =>
      must("12.1", () => isAlsoAllowed(c, entry), `entry ${i + 1} is not for this predictor`),
    );
    c.also.forEach((entry, i) =>
      must(
        "12.2",
        () => i === 0 || compareAlso(c.also[i - 1], entry) < 0,
        `entry ${i + 1} is not after the entry before it in their order`,
      ),
    );
    for (const { name, value } of ofKind("inequality")) {
      must(
        "12.3",
        () => isDueRate(value, (p) => boundSound(c, c.claims[0], name, p)),
        `${value} is not what ${name} gives`,
      );
    }
    for (const { errors, examples } of ofKind("held-out")) {
      must("12.4", () => errors <= examples, "there are more errors than held-out examples");
    }
    for (const { errors, examples, upper } of ofKind("held-out")) {
      const level = ln(Fraction.decimal(c.delta)).times(-1);
      must(
        "12.5",
        () => isDueRate(upper, (p) => binomialSound(errors, examples, level, p)),
        `${upper} is not the limit of the held-out error`,
      );
    }
    for (const entry of ofKind("theorem3")) {
      mustBeDueNats("12.6", "the divergence by theorem 3", entry.nats, divergence(c, "theorem3"));
    }
  };

  // ==== 13 The sentence ==========================================================================

  /** 100x rounded up, for a rate x: in units of 10^-places, with the number of places. */
  const roundedPercent = (x) => {
    const value = Fraction.decimal(x);
    const places = value.isAtLeast(new Fraction(1n, 1000n)) ? 2 : 6;
    return [ceilDivide(value.n * 100n * 10n ** BigInt(places), value.d), places];
  };
  const withPlaces = (units, places) => {
    const digits = units.toString().padStart(places + 1, "0");
    return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  };
  const pct = (x) => withPlaces(...roundedPercent(x));
  const cov = (x) => {
    const [units, places] = roundedPercent(x);
    return withPlaces(100n * 10n ** BigInt(places) - units, places);
  };
  const conf = (delta) => {
    const { n, d } = Fraction.decimal(delta);
    const units = 10n ** 8n - ceilDivide(n * 10n ** 8n, d);
    return withPlaces(units, 6).replace(/\.?0+$/, "");
  };

  const OVER = {
    "gibbs": " and the Monte Carlo draws",
    "vote-gibbs": " and the Monte Carlo draws",
    "vote-tandem": " and the Monte Carlo draws",
    "draw": " and of the network",
    "fixed": "",
  };
  const WHO = {
    "gibbs": "the randomised predictor, which draws fresh weights for every prediction,",
    "vote-gibbs": "the majority vote of all networks, weighted by the posterior,",
    "vote-tandem": "the majority vote of all networks, weighted by the posterior,",
    "draw": "the one network that was drawn from the posterior,",
    "fixed": "the fixed predictor",
  };

  const scope = (family) => {
    const [{ subject, class: number, group }] = family;
    const n = family.length;
    switch (subject) {
      case "all":
        return "";
      case "answered":
        return " among the inputs that it answers";
      case "true-class":
        return n === 1
          ? ` on examples of true class ${number}`
          : ` on examples of each of ${n} true classes`;
      case "predicted-class":
        return n === 1
          ? ` where it predicts class ${number}`
          : ` where it predicts each of ${n} classes`;
      default:
        return n === 1 ? ` in the group \u201c${group}\u201d` : ` in each of ${n} groups`;
    }
  };

  const clause = (family) => {
    // Rates have as many digits all of them, so that texts compare as numbers do.
    const largest = family.map(({ bound }) => bound).reduce((a, b) => (a > b ? a : b));
    const [{ loss, cost: name }] = family;
    if (loss === "abstention") return `it answers at least ${cov(largest)} % of the inputs`;
    const most = `${scope(family)} is at most ${pct(largest)} %`;
    if (loss === "cost") return `its mean cost \u201c${name}\u201d${most} of the unit`;
    return `its error${most}`;
  };

  const notes = (c) => {
    const { prior, model, ledger } = c;
    const { examples, duplicates, copies } = c.data;
    const found = [];
    if (prior.kind === "learned") {
      const what = isFixed(c) ? "predictor" : "prior";
      found.push(
        `The ${what} was learned from the other ${prior.part.examples} examples of the data set.`,
      );
    }
    if (prior.kind === "elsewhere") {
      found.push(
        `The prior is declared to be free of the counted examples (\u201c${prior.origin}\u201d).`,
      );
    }
    if (prior.kind === "none") {
      found.push(
        "The predictor is declared to have been fixed before the counted examples were seen.",
      );
    }
    if (model.extractors.length > 0) {
      found.push(
        `The extractors of its inputs (number: ${model.extractors.length}) are declared to be ` +
          "free of the counted examples.",
      );
    }
    if (model.answer_above !== "") {
      found.push(
        `It answers where its confidence is above ${model.answer_above}, a threshold that is ` +
          "declared to have been fixed without the counted examples.",
      );
    }
    const candidates = BigInt(ledger.recipe.candidates) * BigInt(ledger.user.candidates);
    const looks = ledger.recipe.looks + ledger.user.looks;
    const { counted, number } = ledger.certificates;
    if (candidates > 1n || looks > 0 || counted === "place" || number > 1) {
      const made = counted === "place" ? "place in the order of certificates" : "certificates";
      found.push(
        `Declared and paid for: candidates ${candidates}, adaptive looks ${looks}, ` +
          `${made} ${number}.`,
      );
    }
    if (duplicates > 0 && copies !== "unknown") {
      const declared = copies === "independent" ? ", declared to be independent examples" : "";
      found.push(`Exact copies among the ${examples} examples: ${duplicates}${declared}.`);
    }
    if (copies === "unknown") found.push("Copies among the examples cannot be detected.");
    return found;
  };

  const sentenceOf = (c) => {
    const head =
      `With probability at least ${conf(c.delta)} % over the draw of the ${c.data.m} counted ` +
      `examples${OVER[c.predictor]}, the following holds for ${WHO[c.predictor]} on new data ` +
      "from the same distribution: ";
    const clauses = families(c.claims).map(clause).join("; ");
    return [`${head}${clauses}.`, ...notes(c)].join(" ");
  };

  const sentence = (c) => {
    const due = sentenceOf(c);
    must("13.1", () => c.sentence === due, () => {
      let place = 0;
      while (place < due.length && due[place] === c.sentence[place]) place += 1;
      return `the sentence is not the one that is due, from character ${place} on`;
    });
  };

  // ==== verify ===================================================================================

  const SECTIONS = [
    shape, data, modelAndPrior, claims, budget, seeds, codeAndLedger, divergences,
    countsAndLimits, bounds, also, sentence,
  ];

  /** Check a file, given as its bytes. */
  const verify = (bytes) => {
    try {
      const certificate = reading(bytes);
      for (const section of SECTIONS) section(certificate);
      return { accepted: true, check: null, reason: "all checks pass", certificate };
    } catch (error) {
      if (error instanceof Rejection) {
        return { accepted: false, check: error.check, reason: error.message, certificate: null };
      }
      // A fault of this program, never a reason to accept.
      const reason = `this checker failed: ${error}`;
      return { accepted: false, check: null, reason, certificate: null };
    }
  };

  globalThis.pacboundVerifier = {
    verify,
    // For tests against the numbers of appendix C, and for pages.
    parts: {
      Fraction, Interval, PI, binomialSound, bettingSound, catoniParameter, catoniSound, conf, cost,
      costOfChoices, costOfLedger, cov, divergenceOfGroup, drawPrice, entryCosts: ENTRY_COSTS,
      families, isAtMost, kl, klComplexity, klSound, ln, lnCertificates, lnChoose, lnFactorial,
      lnWealth, maurerConstant, momentLimit, pct, seed, sha256, variance,
    },
  };
})();
