"""The checker in JavaScript, in Node and in Chromium: examples, forgeries, numbers, vectors."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from chromium import PATIENCE, chromium
from speed import once_within
from verifier_cases import SPEC, examples, forgeries, gibbs, harmless

VERIFIER = resources.files("pacbound.report.page").joinpath("verifier.js").read_text("utf-8")
VECTORS = SPEC.parent / "vectors"

# Runs a function of JavaScript on an argument.
Run = Callable[[str, Any], Any]

NODE = """
const read = require("fs").readFileSync;
const run = require("vm").runInThisContext;
const { verifier, script, argument } = JSON.parse(read(0, "utf-8"));
run(verifier);
process.stdout.write(JSON.stringify(run(script)(argument)) ?? "null");
"""

VERIFY = """(files) => files.map((file) => {
  const bytes = Uint8Array.from(atob(file), (character) => character.charCodeAt(0));
  const { accepted, check, reason, certificate } = pacboundVerifier.verify(bytes);
  return { verdict: accepted ? "accepted" : check, reason, shown: certificate !== null };
})"""


def _in_node(script: str, argument: Any) -> Any:
    sent = json.dumps({"verifier": VERIFIER, "script": script, "argument": argument})
    done = subprocess.run(
        ["node", "-e", NODE], input=sent, capture_output=True, text=True, check=True, timeout=900
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["node", "chromium"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """The checker in one of the two."""
    if request.param == "node":
        if shutil.which("node") is None:
            pytest.skip("node is not installed")
        yield _in_node
        return
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.add_script_tag(content=VERIFIER)
        yield page.evaluate


def verdicts(run: Run, contents: Sequence[bytes]) -> list[dict[str, Any]]:
    """What the checker says of each file."""
    found: list[dict[str, Any]] = run(VERIFY, [base64.b64encode(x).decode() for x in contents])
    return found


def test_good_certificates_are_accepted(run: Run) -> None:
    cases = harmless()
    for (name, _), found in zip(cases, verdicts(run, [x for _, x in cases]), strict=True):
        assert found["verdict"] == "accepted", (name, found)
        assert found["shown"]


def test_forgeries_are_rejected_with_the_number_of_the_check(run: Run) -> None:
    cases = forgeries()
    assert len(cases) >= 60
    for case, found in zip(cases, verdicts(run, [x.content for x in cases]), strict=True):
        assert found["verdict"] == case.check, (case.name, found)
        assert not found["shown"]
        assert len(found["reason"]) < 400 and found["reason"].isprintable()


def test_every_check_has_a_forgery() -> None:
    numbered = {
        f"{section}.{number}"
        for section, count in enumerate((7, 10, 5, 12, 9, 1, 3, 2, 5, 7, 6, 6, 1), 1)
        for number in range(1, count + 1)
    }
    assert {case.check for case in forgeries()} == numbered
    text = SPEC.read_text(encoding="utf-8")
    assert all(f"- **{number}" in text for number in numbered)


def test_vectors(run: Run) -> None:
    """The files that every checker of the format runs."""
    index = json.loads((VECTORS / "vectors.json").read_text(encoding="utf-8"))
    contents = [(VECTORS / x["file"]).read_bytes() + b" " * x.get("spaces", 0) for x in index]
    wrong = {
        vector["file"]: (vector["expected"], said["verdict"], said["reason"])
        for vector, said in zip(index, verdicts(run, contents), strict=True)
        if vector["expected"] != said["verdict"]
    }
    assert wrong == {}


def test_24_certificates_take_less_than_3_seconds(run: Run) -> None:
    contents = [x for _, x in harmless()]

    def check() -> None:
        found = verdicts(run, [contents[i % len(contents)] for i in range(24)])
        assert all(x["verdict"] == "accepted" for x in found)

    once_within(3, check)


# Appendix C: an expression of JavaScript, and the number that SPEC.md gives for it. `solve` finds
# the smallest p that is sound, `deepest` the largest ℓ for which p is.
NUMBERS = {
    "cost(1)": "0.4977003024707453474744",
    "cost(10)": "5.10287048845883671551",
    "cost(184)": "10.92757181768871658559",
    "grid(184)": "0.01588174261069206949908",
    "grid(200)": "0.0135335283236612691894",
    "ln(f('10').over(9))": "0.1053605156578263012275",
    "ln(10)": "2.302585092994045684018",
    "cost(1).plus(costOfChoices('table', 'initialised', TABLE))": "0.6030608181285716487019",
    "cost(10).plus(costOfChoices('mlp-600', 'initialised', {...TABLE, "
    "initializer: 'fan-in-uniform', hidden_bias: '0', widths: [600], "
    "variance_groups: 'network'}))": "33.91412054334990116505",
    "entryCosts.blocks([{layer: 1, sizes: [30, 570]}])": "10.17949033432718275956",
    "costOfLedger({recipe: {candidates: 3, looks: 4}, user: {candidates: 1, looks: 0}})": (
        "3.871201010907890929064"
    ),
    "lnCertificates({certificates: {counted: 'place', number: 2}})": "1.883994663590635966309",
    "kl(f('0.1'), f('0.2'))": "0.03669001403475057814319",
    "kl(f('0'), f('0.05'))": "0.0512932943875505334262",
    "solve((p) => klSound(f('0.1'), i('0.01'), p))": "0.1476755392980074720864",
    "maurerConstant(1)": "2.003741645132686899349",
    "maurerConstant(8)": "4.245070295050072600504",
    "maurerConstant(285)": "21.83112818009965137911",
    "maurerConstant(30000)": "217.7476450483814636701",
    "maurerConstant(60000)": "307.6651049432119285559",
    "maurerConstant(1e7)": "3963.993997297442334767",
    "lnFactorial(1000)": "5912.128178488163348878",
    "lnChoose(1e7, 60000)": "366772.9705205347209209",
    "deepest(3, 100, '0.08').times(-1).exp()": "0.03670589923504165887796",
    "deepest(60000, 1e7, '0.0061')": "10.65685577655672784429",
    "deepest(60000, 1e7, '0.0061').times(-1).exp()": "0.00002353890964245839034156",
    "deepest(5e6, 1e7, '0.5006')": "9.511513537439571155171",
    "deepest(5e6, 1e7, '0.5006').times(-1).exp()": "0.00007399496279316948458715",
    "solve((p) => binomialSound(3, 100, lnOver('0.05'), p))": "0.07571079374983005288546",
    "solve((p) => binomialSound(0, 100, lnOver('0.05'), p))": "0.02951304960703993450048",
    "solve((p) => binomialSound(61, 10000, lnOver('0.05'), p))": "0.007543994794539046886423",
    "drawPrice(f('-1'))": "1.365918723826695989011",
    "drawPrice(f('0'))": "1.858289448523389639149",
    "drawPrice(f('1'))": "2.746325248838034273205",
    "drawPrice(f('10'))": "14.60531826846347952711",
    "drawPrice(f('3000'))": "3016.012735135300493487",
    "drawPrice(f('0.5')).plus(lnOver('0.035'))": "5.602548242626127881442",
    "solve((p) => binomialSound(180, 30000, drawPrice(f('0.5')).plus(lnOver('0.035')), p))": (
        "0.007298771321273470585246"
    ),
    "klComplexity('density', f('0.5'), 30000, f('0.035'))": "0.0003078581339411349201598",
    "solve((p) => klSound(f('0.006'), klComplexity('density', f('0.5'), 30000, f('0.035')), p))": (
        "0.008123865845334182723497"
    ),
    "lnOver('0.05').over(1000)": "0.002995732273553990993435",
    "solve((p) => klSound(f('0.0125'), lnOver('0.05').over(1000), p))": "0.02313133402122279268134",
    "solve((p) => klSound(f('500').over(60000), ln(100).over(60000), p))": (
        "0.009510456467309738477268"
    ),
    "lnWealth(BET, f('0.11'))": "5.042149600465609261045",
    "solve((p) => bettingSound(BET, ln(100), p))": "0.1054155135918214901175",
    "Interval.of(catoni.q0)": "0.006032931137924138390774",
    "catoni.c0": "0.0002229626484704645434284",
    "catoni.p0": "0.007896087863052300971058",
    "catoni.lambda": "0.2710106687030196734952",
    "solve((p) => catoniSound(catoni.lambda, q, f('2'), 30000, f('0.025'), 1, p))": (
        "0.007641574723778798369723"
    ),
    "klComplexity('mcallester', f('2'), 30000, f('0.025'))": "0.0005332788464534894073242",
    "solve((p) => klSound(q, klComplexity('mcallester', f('2'), 30000, f('0.025')), p))": (
        "0.008884126780109426595999"
    ),
    "klComplexity('maurer', f('2'), 30000, f('0.025'))": "0.0003845500988332009275334",
    "solve((p) => klSound(q, klComplexity('maurer', f('2'), 30000, f('0.025')), p))": (
        "0.008401670545361659046194"
    ),
    "klComplexity('xi', f('2'), 30000, f('0.025'))": "0.0003690738751618420178433",
    "solve((p) => klSound(q, klComplexity('xi', f('2'), 30000, f('0.025')), p))": (
        "0.008347546667503723069461"
    ),
    "klComplexity('mcallester', f('2'), 30000, f('0.025')).over(2).root().plus(q)": (
        "0.0223290974406653812356"
    ),
    "divergenceOfGroup(i('1.7'), grid(200), 100, 100, '-225')": "22.67772219120824273056",
    "ln(f('1.2').over(100)).times(50)": "-221.1424314597068370912",
    "momentLimit('gaussian', GROUP, 100, 1000, ln(400))": "1.734441419828060436519",
    "divergenceOfGroup(momentLimit('gaussian', GROUP, 100, 1000, ln(400)), "
    "grid(200), 100, 100, '-225')": "23.95017010739004770637",
    "momentLimit('theorem3', GROUP, 100, 1000, ln(400))": "3.193175868450068320017",
    "divergenceOfGroup(i('1.65'), grid(200), f('97.5'), 100, '-225')": "22.08045816647558017375",
}

TEXTS = {
    "pct('0.1778155399') + ' ' + cov('0.1778155399')": "17.79 82.21",
    "pct('0.0010000000') + ' ' + cov('0.0010000000')": "0.10 99.90",
    "pct('0.0009999999') + ' ' + cov('0.0009999999')": "0.100000 99.900000",
    "pct('0.0000003500') + ' ' + cov('0.0000003500')": "0.000035 99.999965",
    "pct('1.0000000000') + ' ' + cov('1.0000000000')": "100.00 0.00",
    "conf('0.035') + ' ' + conf('0.05') + ' ' + conf('0.0000001')": "96.5 95 99.99999",
    "hash('')": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "hash('abc')": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "hash('a'.repeat(1000000))": "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    "hash('pacbound-example/2 uint8 2x2 1\\n', [0, 1, 2, 255])": (
        "5d15586e88e8c5aa27352d56d067349e9106fbfdfa41846855d94442afae4b99"
    ),
    "hash('pacbound-example/2 id 3 1\\nr17')": (
        "1c594ecd423e43d7981c1a568a3a173113df354c43fb54ef80cdb514374e99ac"
    ),
    "hash('pacbound-costs/2\\n0 0.5\\n1 0\\n')": (
        "53eb43040b0482793cf61331fdb0fab801ffd886cac32dcdf45d24ff86f9a441"
    ),
    "seed(record, 'risk')": "5e964b0a72fe8f09317c3de3315cb568dfb910b3af8d9f9b6ef895813517d948",
    "seed(record, 'draw')": "550055ff393409ad0a2ddf1ef540bf856c86a545a04d2db050ded7a46ab7bad9",
    "seed(record, 'kl')": "532a64d6bebecf064ba406f2059bd1512d11a3b25810ef8f2f231548f8d9e885",
}

EVALUATE = """(record) => {
  const { Fraction, Interval, binomialSound, bettingSound, catoniParameter, catoniSound, conf,
    cost, costOfChoices, costOfLedger, cov, divergenceOfGroup, drawPrice, entryCosts, kl,
    klComplexity, klSound, ln, lnCertificates, lnChoose, lnFactorial, lnWealth, maurerConstant,
    momentLimit, pct, seed, sha256, variance } = pacboundVerifier.parts;
  const f = Fraction.decimal;
  const i = (text) => Interval.of(f(text));
  const q = f("0.006");
  const grid = (index) => variance({ by: "grid", index });
  const lnOver = (delta) => ln(f(delta)).times(-1);
  const catoni = catoniParameter({ errors: 90, examples: 15000 }, 30000, f("0.025"));
  const BET = { scale: 50, histogram: [[1, 10], [2, 30], [3, 40], [5, 20]] };
  const GROUP = { mean_square: "1.7", lipschitz: "0.12", offset: "0.7" };
  const TABLE = { network: "mlp", initializer: "zeros", seed: 0, input_scale: "1",
    smoothing: "0", alignment: "none", hidden_bias: "0", later_bias: "0", widths: [],
    variance_groups: "layer", blocks: [] };
  const hash = (text, more = []) =>
    sha256(Uint8Array.from([...new TextEncoder().encode(text), ...more]));
  const bisect = (low, high, isAbove) => {
    let [bottom, top] = [BigInt(low) * 10n ** 28n, BigInt(high) * 10n ** 28n];
    while (top - bottom > 1n) {
      const middle = (bottom + top) / 2n;
      if (isAbove(new Fraction(middle, 10n ** 28n))) top = middle;
      else bottom = middle;
    }
    return Interval.of(new Fraction(top, 10n ** 28n));
  };
  const solve = (sound) => bisect(0, 1, sound);
  const deepest = (k, n, p) =>
    bisect(0, 20, (level) => !binomialSound(k, n, Interval.of(level), f(p)));
  return { %s };
}"""


def evaluated(run: Run, expressions: Sequence[str], form: str) -> dict[str, str]:
    body = ", ".join(f"{json.dumps(x)}: ({x}){form}" for x in expressions)
    found: dict[str, str] = run(EVALUATE % body, gibbs())
    return found


def test_numbers_of_appendix_c(run: Run) -> None:
    found = evaluated(run, list(NUMBERS), ".toDecimal(40)")
    text = SPEC.read_text(encoding="utf-8").partition("## Appendix C")[2].replace("−", "-")
    for expression, number in NUMBERS.items():
        assert number in text, number
        # Shown with 22 digits: the last one is rounded.
        digits = len(number.lstrip("-0.").replace(".", ""))
        assert 20 <= digits <= 22
        unit = 10.0 ** -len(number.partition(".")[2])
        difference = abs(_exact(found[expression]) - _exact(number))
        assert difference <= _exact(f"{unit:.40f}"), (expression, found[expression], number)


def _exact(decimal: str) -> Any:
    from fractions import Fraction

    return Fraction(decimal)


def test_texts_and_digests_of_appendix_c(run: Run) -> None:
    found = evaluated(run, list(TEXTS), "")
    assert found == TEXTS


def test_enclosures_contain_exact_values(run: Run) -> None:
    """Laws of the arithmetic, at sizes that certificates can have."""
    script = """() => {
      const { Fraction, Interval, ln } = pacboundVerifier.parts;
      const contains = (interval, value) => {
        const exact = Interval.of(value);
        return interval.lo <= exact.hi && exact.lo <= interval.hi;
      };
      const isNarrow = ({ lo, hi }, digits) =>
        lo <= hi && (hi - lo) * 10n ** digits < (hi < 0n ? -hi : hi);
      const wrong = [];
      for (const text of ["1", "2", "0.1", "3", "1e-44", "1e-9", "0.999999999", "1000000007",
                          "123456789123456789", "1e40"]) {
        const [base, power = "0"] = text.split("e");
        const shift = BigInt(power);
        const plain = Fraction.decimal(base);
        const x = shift < 0n
          ? plain.over(10n ** -shift) : plain.times(10n ** shift);
        const checks = {
          "exp ln": contains(ln(x).exp(), x),
          "root": contains(Interval.of(x).root().squared(), x),
          "ln of a square": contains(ln(x.times(x)).minus(ln(x).times(2)), 0),
          "ln of the inverse": contains(ln(x).plus(ln(new Fraction(1n).over(x))), 0),
          "division": contains(Interval.of(1).over(x).times(x), 1),
          "signs": contains(Interval.of(x).times(-1).over(7).times(-7), x),
          "narrow exp": isNarrow(ln(x).exp(), 60n),
          "narrow ln": text === "1" || isNarrow(ln(x), 60n),
          "narrow root": isNarrow(Interval.of(x).root(), 60n),
        };
        for (const [name, passed] of Object.entries(checks)) {
          if (!passed) wrong.push(`${name} of ${text}`);
        }
      }
      const tiny = Interval.of(-1000000).exp();
      if (!(tiny.lo === 0n && tiny.hi > 0n && tiny.hi < 4n)) wrong.push("a tiny exponential");
      return wrong;
    }"""
    assert run(script, None) == []


def test_equality_is_settled_by_the_slack(run: Run) -> None:
    """One example, no error, δ = 0.05: the limit is exactly 0.95 (SPEC.md, "Comparisons")."""
    script = """() => {
      const { Fraction, binomialSound, klSound, ln } = pacboundVerifier.parts;
      const level = ln(Fraction.decimal("0.05")).times(-1);
      const at = (text) => Fraction.decimal(text);
      return [
        binomialSound(0, 1, level, at("0.95")), binomialSound(0, 1, level, at("0.9499999998")),
        klSound(at("0"), level, at("0.95")), klSound(at("0"), level, at("0.9499999998")),
        klSound(at("0.3"), ln(1), at("0.3")), klSound(at("0.3"), ln(1), at("0.2999999999")),
        binomialSound(1, 1, level, at("0.9999999999")), binomialSound(1, 1, level, at("1.0")),
      ];
    }"""
    assert run(script, None) == [True, False] * 3 + [False, True]


def test_hostile_figures_end_in_a_verdict(run: Run) -> None:
    """Primitives at the ends of their ranges: slow or endless arithmetic would hang a page."""
    cases = []
    for number in ("999999999999999999", "0." + "0" * 29 + "1"):
        for field in ("trace", "distance_sq", "log_det"):
            for sign in ("", "-") if field == "log_det" else ("",):
                record = gibbs()
                record["evidence"]["groups"][0][field] = sign + number
                cases.append(record)
    for record in cases[:]:
        many = json.loads(json.dumps(record))
        many["prior"]["variances"][0]["index"] = 10_000
        cases.append(many)

    def check() -> None:
        found = verdicts(run, [json.dumps(record).encode() for record in cases])
        assert all(x["verdict"] not in (None, "accepted") for x in found), found

    once_within(10, check)


def test_no_module_syntax_no_eval_and_no_network() -> None:
    for word in ("import ", "export ", "require(", "eval(", "new Function", "fetch(", "http"):
        assert word not in VERIFIER
    assert "</" not in VERIFIER and "<!--" not in VERIFIER  # it is written into a page


def test_examples_are_found_in_the_specification() -> None:
    assert len(examples()) == 2
    assert Path(SPEC).name == "SPEC.md"
