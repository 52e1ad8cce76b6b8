"""The numbers that SPEC.md prints: by mpmath, and enclosed by the checker's intervals."""

from __future__ import annotations

import hashlib
import re
import struct
from fractions import Fraction
from typing import Any

import formulas as f
import pytest
from building import Json, choices_cost, default_choices, entry_cost, finish, seed
from good_vectors import SPEC, spec_examples
from mpmath import mp, mpf

from pacbound.certificate import checker as c

TEXT = SPEC.read_text(encoding="utf-8")
APPENDIX_B = TEXT[TEXT.index("## Appendix B") : TEXT.index("## Appendix C")]
APPENDIX_C = TEXT[TEXT.index("## Appendix C") : TEXT.index("## Appendix D")]
F = Fraction
n = f.number


def record(**fields: Any) -> c.Record:
    return c.Record(fields)


def total_of_choices(kind: str, recipe: str, network: str, **changes: Any) -> tuple[mpf, Any]:
    """The code without variances, by the builder and by the checker."""
    choices = default_choices(kind, recipe) | changes
    model = {"recipe": recipe, "network": network}
    recipe_cost = f.cost(list(c.RECIPES).index(recipe) + 1)
    certificate = record(model=record(**model), prior=record(kind=kind, choices=record(**choices)))
    enclosed = c._choices_cost(certificate) + c._position_cost(recipe, c.RECIPES)
    return recipe_cost + choices_cost(kind, choices, model), enclosed


OTHER = {
    "input_scale": "1",
    "smoothing": "0",
    "hidden_bias": "0",
    "variance_groups": "network",
}
BLOCKS = [c.Record(layer=1, sizes=[30, 570])]
LN100 = mp.log(100)
HISTOGRAM = [[1, 10], [2, 30], [3, 40], [5, 20]]


def drawn_level(x: str) -> tuple[mpf, Any]:
    fake = record(
        predictor="draw",
        bound=record(code="0.000000", ledger="0.000000"),
        evidence=record(nats=x),
    )
    # δ is at most ½ in the format; ln 1 = 0 leaves A + 2 ln A here
    return f.draw_level(n(x)), c._tail_level(fake, F(1))


def q0(which: int) -> mpf:
    return f.catoni_parameters(90, 15000, 30000, n("0.025"))[which]


def complexity(name: str, total: str, m: int, delta: str) -> tuple[mpf, Any]:
    enclosed = c._complexity(name, F(total), m, F(delta))
    return f.complexity(name, n(total), m, n(delta)), enclosed


def bound(q: str, name: str, total: str, m: int, delta: str) -> tuple[mpf, None]:
    return f.kl_inverse(n(q), f.complexity(name, n(total), m, n(delta))), None


def group_divergence(kind: str, tail: str = "", **group: str) -> tuple[mpf, Any]:
    """Of d = 100 parameters at index 200; with samples, one of two groups."""
    variance = record(by="grid", index=200, parameters=100)
    level = mp.log(400)
    if kind == "exact":
        moment, spread = n(group["trace"]) + n(group["distance_sq"]), mpf(100)
    elif kind == "drawn":
        moment, spread = n(group["distance_sq"]), n(group["noise_sq"])
    else:
        moment, spread = f.gaussian_moment(n("1.7"), n("0.12"), 1000, level), mpf(100)
    value = f.group_nats(moment, spread, 100, f.grid_variance(200), n("-225"))
    evidence = record(kind=kind, groups=[record(**group, log_det="-225")])
    enclosed = None
    if kind != "monte-carlo":
        (enclosed,) = c.divergences(
            record(evidence=evidence, prior=record(variances=[variance])), tail
        )
    return value, enclosed


def moment(tail: str) -> tuple[mpf, Any]:
    group = record(mean_square="1.7", lipschitz="0.12", offset="0.7")
    evidence = record(kind="monte-carlo", samples=1000, delta_kl="0.005", groups=[group, group])
    ledger = record(certificates=record(counted="declared", number=1))
    enclosed = c._second_moment(record(evidence=evidence, ledger=ledger), tail, group, 100)
    level = mp.log(400)
    if tail == "gaussian":
        return f.gaussian_moment(n("1.7"), n("0.12"), 1000, level), enclosed
    return f.theorem3_moment(n("1.7"), n("0.12"), 100, n("0.7"), 1000, level), enclosed


def numbers() -> list[tuple[str, mpf, Any]]:
    """As printed, by mpmath, and the checker's interval where it evaluates the formula."""
    table = total_of_choices("initialised", "table", "mlp")
    other = total_of_choices("initialised", "mlp-600", "mlp", **OTHER)
    lam = c.catoni_parameter(record(errors=90, examples=15000), 30000, F("0.025"))
    half = n("0.5")
    ell = f.draw_level(half) - mp.log(n("0.035"))
    rows: list[tuple[str, tuple[mpf, Any]]] = [
        ("0.4977003024707453474744", (f.cost(1), c.cost(1))),
        ("5.10287048845883671551", (f.cost(10), c.cost(10))),
        ("10.92757181768871658559", (f.cost(184), c.cost(184))),
        (
            "0.01588174261069206949908",
            (f.grid_variance(184), c.prior_variance(record(by="grid", index=184))),
        ),
        (
            "0.0135335283236612691894",
            (f.grid_variance(200), c.prior_variance(record(by="grid", index=200))),
        ),
        ("0.1053605156578263012275", (mp.log(mpf(10) / 9), c.ln(F(10, 9)))),
        ("2.302585092994045684018", (mp.log(10), c.ln(10))),
        ("0.6030608181285716487019", table),
        ("33.91412054334990116505", other),
        ("10.17949033432718275956", (entry_cost("blocks", BLOCKS), c._blocks_cost(BLOCKS))),
        (
            "3.871201010907890929064",
            (mp.log(3) + 4 * mp.log(2), c.ln(3) + 4 * c.ln(2)),
        ),
        ("1.883994663590635966309", (mp.log(mp.pi**2 * 4 / 6), c.cost(2))),
        (
            "0.03669001403475057814319",
            (f.kl(n("0.1"), n("0.2")), c.relative_entropy(F("0.1"), F("0.2"))),
        ),
        (
            "0.0512932943875505334262",
            (f.kl(mpf(0), n("0.05")), c.relative_entropy(F(0), F("0.05"))),
        ),
        ("0.1476755392980074720864", (f.kl_inverse(n("0.1"), n("0.01")), None)),
        *[
            (shown, (f.maurer_constant(m), c.maurer_constant(m)))
            for shown, m in (
                ("2.003741645132686899349", 1),
                ("4.245070295050072600504", 8),
                ("21.83112818009965137911", 285),
                ("217.7476450483814636701", 30000),
                ("307.6651049432119285559", 60000),
                ("3963.993997297442334767", 10**7),
            )
        ],
        ("5912.128178488163348878", (mp.loggamma(1001), c.ln_factorial(1000))),
        (
            "366772.9705205347209209",
            (
                mp.loggamma(10**7 + 1) - mp.loggamma(60001) - mp.loggamma(10**7 - 59999),
                c.ln_factorial(10**7) - c.ln_factorial(60000) - c.ln_factorial(10**7 - 60000),
            ),
        ),
        *tail("0.03670589923504165887796", "", 3, 100, "0.08"),
        *tail("0.00002353890964245839034156", "-10.65685577655672784429", 60000, 10**7, "0.0061"),
        *tail(
            "0.00007399496279316948458715",
            "-9.511513537439571155171",
            *(5 * 10**6, 10**7, "0.5006"),
        ),
        *[
            (shown, (f.clopper_pearson(k, m, -mp.log(n("0.05"))), None))
            for shown, k, m in (
                ("0.07571079374983005288546", 3, 100),
                ("0.02951304960703993450048", 0, 100),
                ("0.007543994794539046886423", 61, 10000),
            )
        ],
        ("1.365918723826695989011", drawn_level("-1")),
        ("1.858289448523389639149", drawn_level("0")),
        ("2.746325248838034273205", drawn_level("1")),
        ("14.60531826846347952711", drawn_level("10")),
        ("3016.012735135300493487", drawn_level("3000")),
        ("5.602548242626127881442", (ell, None)),
        ("0.007298771321273470585246", (f.clopper_pearson(180, 30000, ell), None)),
        ("0.0003078581339411349201598", complexity("density", "0.5", 30000, "0.035")),
        ("0.008123865845334182723497", bound("0.006", "density", "0.5", 30000, "0.035")),
        ("0.002995732273553990993435", (-mp.log(n("0.05")) / 1000, None)),
        (
            "0.02313133402122279268134",
            (f.kl_inverse(n("0.0125"), -mp.log(n("0.05")) / 1000), None),
        ),
        ("0.009510456467309738477268", (f.kl_inverse(mpf(500) / 60000, LN100 / 60000), None)),
        ("5.042149600465609261045", (f.betting_sum(HISTOGRAM, 50, n("0.11")), None)),
        ("0.1054155135918214901175", (f.betting_limit(HISTOGRAM, 50, LN100), None)),
        ("0.006032931137924138390774", (q0(0), None)),
        ("0.0002229626484704645434284", (q0(1), None)),
        ("0.007896087863052300971058", (q0(2), None)),
        ("0.2710106687030196734952", (q0(3), lam)),
        (
            "0.007641574723778798369723",
            (f.catoni(n("0.006"), mpf(2), 30000, n("0.025"), q0(3)), None),
        ),
        ("0.0005332788464534894073242", complexity("mcallester", "2", 30000, "0.025")),
        ("0.008884126780109426595999", bound("0.006", "mcallester", "2", 30000, "0.025")),
        ("0.0003845500988332009275334", complexity("maurer", "2", 30000, "0.025")),
        ("0.008401670545361659046194", bound("0.006", "maurer", "2", 30000, "0.025")),
        ("0.0003690738751618420178433", complexity("xi", "2", 30000, "0.025")),
        ("0.008347546667503723069461", bound("0.006", "xi", "2", 30000, "0.025")),
        (
            "0.0223290974406653812356",
            (
                n("0.006") + mp.sqrt(complexity("mcallester", "2", 30000, "0.025")[0] / 2),
                None,
            ),
        ),
        ("22.67772219120824273056", group_divergence("exact", trace="1.2", distance_sq="0.5")),
        (
            "-221.1424314597068370912",
            (50 * mp.log(n("0.012")), c.ln(F("0.012")) * 50),
        ),
        ("1.734441419828060436519", moment("gaussian")),
        ("23.95017010739004770637", group_divergence("monte-carlo")),
        ("6.636143578797298986012", (f.theorem3_constant(n("0.12"), 100, n("0.7")), None)),
        ("3.193175868450068320017", moment("theorem3")),
        (
            "22.08045816647558017375",
            group_divergence("drawn", distance_sq="1.65", noise_sq="97.5"),
        ),
    ]
    return [(shown, *values) for shown, values in rows]


def tail(shown: str, shown_ln: str, k: int, m: int, p: str) -> list[tuple[str, tuple[mpf, Any]]]:
    logarithm, enclosed = f.ln_tail(k, m, n(p)), c.ln_binomial_tail(k, m, F(p))
    rows = [(shown, (mp.exp(logarithm), c.exp(enclosed)))]
    return rows + ([(shown_ln, (logarithm, enclosed))] if shown_ln else [])


NUMBERS = numbers()


@pytest.mark.parametrize(("shown", "value", "enclosed"), NUMBERS, ids=[x[0] for x in NUMBERS])
def test_a_number_of_appendix_c(shown: str, value: mpf, enclosed: Any) -> None:
    assert shown.replace("-", "−") in APPENDIX_C
    half_a_unit = mpf(10) ** -len(shown.partition(".")[2]) / 2
    # trailing zeros are not printed, so a short number may stand for a more precise one
    assert abs(value - n(shown)) <= half_a_unit
    if enclosed is not None:
        low, high = mpf(str(enclosed.lo)), mpf(str(enclosed.hi))
        near = abs(value) * mpf(10) ** -45
        assert low - near <= value <= high + near
        assert high - low <= abs(value) * mpf(10) ** -45


def test_all_numbers_of_appendix_c_are_tested() -> None:
    printed = set(re.findall(r"−?\d+\.\d{16,}", APPENDIX_C))
    assert printed == {shown.replace("-", "−") for shown, _, _ in NUMBERS}


def test_the_binomial_tail_against_the_incomplete_beta_function() -> None:
    for k, m, p in ((3, 100, "0.08"), (0, 5, "0.3"), (61, 10000, "0.0075"), (99, 100, "0.995")):
        beta = mp.betainc(m - k, k + 1, 0, 1 - n(p), regularized=True)
        assert abs(f.ln_tail(k, m, n(p)) - mp.log(beta)) < mpf(10) ** -45


def test_the_constant_is_above_maurers_sum_and_hardly_so() -> None:
    for m in (1, 2, 3, 8, 100, 285):
        xi = sum(
            mp.binomial(m, k) * (mpf(k) / m) ** k * (1 - mpf(k) / m) ** (m - k)
            for k in range(m + 1)
        )
        assert xi <= f.maurer_constant(m) <= xi * (1 + 1 / mpf(400 * m**2))


@pytest.mark.parametrize(
    ("x", "pct", "cov"),
    [
        ("0.1778155399", "17.79", "82.21"),
        ("0.0010000000", "0.10", "99.90"),
        ("0.0009999999", "0.100000", "99.900000"),
        ("0.0000003500", "0.000035", "99.999965"),
        ("1.0000000000", "100.00", "0.00"),
        ("0.0000000000", "0.000000", "100.000000"),
    ],
)
def test_percentages(x: str, pct: str, cov: str) -> None:
    assert (c.pct(x), c.cov(x)) == (f.pct(x), f.cov(x)) == (pct, cov)
    assert x == "0.0000000000" or f"| `{pct}`, `{cov}` |" in APPENDIX_C


@pytest.mark.parametrize(
    ("delta", "conf"), [("0.035", "96.5"), ("0.05", "95"), ("0.0000001", "99.99999")]
)
def test_confidences(delta: str, conf: str) -> None:
    assert c.conf(delta) == f.conf(delta) == conf
    assert f"`{conf}`" in APPENDIX_C


def sha256(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def example(dtype: str, shape: str, label: int, content: bytes) -> str:
    return sha256(f"pacbound-example/2 {dtype} {shape} {label}\n".encode(), content)


def test_the_digests_of_appendix_c() -> None:
    e = example("uint8", "2x2", 1, bytes([0, 1, 2, 255]))
    zero = example("uint8", "2x2", 0, bytes([0, 1, 2, 255]))
    rows = sorted(bytes.fromhex(x) for x in (e, e, zero))
    groups = sorted(f"{x} {name}\n" for x, name in ((e, "north"), (e, "south"), (zero, "north")))
    tensors = b"b float32 2\n" + struct.pack("<2f", 0, 1)
    tensors += b"w float32 1x2\n" + struct.pack("<2f", 0.5, -2)
    certificate = spec_examples()[1]
    digests = [
        e,
        example("float32", "2", 0, struct.pack("<2f", 1, -0.5)),
        example("id", "3", 1, b"r17"),
        sha256(b"pacbound-data/2 2\n", *rows),
        *[
            sha256(f"pacbound-split/2 0 {x} {number}\n".encode())
            for x, number in ((e, 1), (e, 2), (zero, 1))
        ],
        sha256(b"pacbound-groups/2\n", *(line.encode() for line in groups)),
        sha256(b"pacbound-costs/2\n0 0.5\n1 0\n"),
        sha256(b"pacbound-tensors/2\n", tensors),
        *[seed(certificate, purpose) for purpose in ("risk", "draw", "kl")],
    ]
    assert re.findall(r"`([0-9a-f]{64})`", APPENDIX_C) == digests


def without_figures(certificate: Json) -> Json:
    for claim in certificate["claims"]:
        for name in ("empirical", "limit", "bound"):
            claim.pop(name, None)
    for entry in certificate["also"]:
        entry.pop("value", None)
        entry.pop("upper", None)
    del certificate["sentence"], certificate["bound"]["code"], certificate["bound"]["ledger"]
    certificate.pop("seeds", None)
    certificate.get("evidence", {}).pop("nats", None)
    return certificate


def test_the_examples_of_appendix_b_are_what_mpmath_makes_of_their_primitives() -> None:
    for whole, primitives in zip(spec_examples(), spec_examples(), strict=True):
        assert finish(without_figures(primitives)) == whole


def test_the_figures_behind_appendix_b() -> None:
    first, second = spec_examples()
    levels = [n(share) * mp.exp(-n("1.609438")) for share in ("0.04", "0.01")]
    values = [
        f.clopper_pearson(3, 100, -mp.log(levels[0])),
        f.clopper_pearson(0, 40, -mp.log(levels[1])),
    ]
    lam = f.grid_variance(150)
    values.append(f.group_nats(n("1.45"), mpf(22), 22, lam, n("-50.25")))
    values.append(f.cost(150) + f.cost(1) + mp.log(mpf(10) / 9))
    claims = second["claims"]
    total = n("29.913810") + n("11.122032") + n("1.386295")
    place = mp.log(mp.pi**2 / 6)
    for claim in claims:
        level = place - mp.log(n(claim["delta_risk"]))
        values.append(f.kl_inverse(n(f.exact_mean(claim)), level / claim["draws"]))
    cs = [f.complexity("xi", total, claim["m"], n(claim["delta"])) for claim in claims]
    values += cs
    values += [f.kl_inverse(n(x["limit"]), y) for x, y in zip(claims, cs, strict=True)]
    mcallester = f.complexity("mcallester", total, 1000, n("0.015"))
    limit = n(claims[0]["limit"])
    values.append(f.kl_inverse(limit, mcallester))
    values.append(limit + mp.sqrt(mcallester / 2))
    values.append(f.clopper_pearson(31, 500, -mp.log(n("0.035"))))
    printed = re.findall(r"\d+\.\d{17,}", APPENDIX_B)
    assert len(printed) == len(values)
    for shown, value in zip(printed, values, strict=True):
        unit = mpf(10) ** -len(shown.partition(".")[2])
        assert abs(value - n(shown)) <= unit, shown
    assert first["claims"][0]["bound"] == f.rate(values[0])
