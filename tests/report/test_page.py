"""The report's page: nothing from elsewhere, nothing unproved, and drawings that are to scale."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from page_cases import (
    ATTACKS,
    CASES,
    GOOD,
    VECTORS,
    case,
    certificate,
    hostile,
    text,
    write_folder,
    write_log,
)

from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.printable import LONGEST, printable
from pacbound.report.amounts import percent_up
from pacbound.report.explanation import claim_line, explain
from pacbound.report.ledger import ledger_lines
from pacbound.report.page import Entry, document, gather, read_entry, summarise
from pacbound.report.page.axis import axis
from pacbound.report.page.claim_bar import claim_bar
from pacbound.report.page.comparison import paper_column
from pacbound.report.page.curves import HEIGHT, WIDTH, curves
from pacbound.report.page.entry import Verified
from pacbound.report.page.interval_bar import interval_bar
from pacbound.report.page.waterfall import SHARE, SLIVER, waterfall
from pacbound.report.terms import principal, terms
from pacbound.report.training_log import read_training_log

ROOT = Path(__file__).parents[2]
STYLE = (ROOT / "pacbound/report/page/page.css").read_text(encoding="utf-8")


def entries(folder: Path) -> list[Entry]:
    return [read_entry(name, path) for name, path in gather([folder]).certificates.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("page") / "certificates")


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return document(entries(folder), gather([folder]).others)


class Parsed(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def scripts(self) -> list[str]:
        """Those that run."""
        kinds = [attributes.get("type") for tag, attributes in self.tags if tag == "script"]
        both = zip(kinds, self.blocks["script"], strict=True)
        return [block for kind, block in both if kind is None]

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.blocks:
            self.blocks[self._open].append(data)
        else:
            self.text += data


def test_nothing_is_fetched_and_nothing_runs_but_the_script(html: str) -> None:
    page = Parsed(html)
    tags = [tag for tag, _ in page.tags]
    assert not {"img", "iframe", "object", "embed", "audio", "video", "base"} & set(tags)
    assert (tags.count("style"), tags.count("form")) == (1, 1)
    kinds = Counter(attributes.get("type") for tag, attributes in page.tags if tag == "script")
    # page, checker and re-check run; the summary and the certificates are data
    accepted = len(CASES) + 1
    assert kinds == {None: 3, "application/json": 1, "application/pacbound-certificate": accepted}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action", "srcset", "xlink:href"):
            assert re.match(r"#|data:image/svg\+xml,", attributes.get(name) or "#"), (tag, name)
    assert "@import" not in STYLE and "url(" not in STYLE


def test_the_policy_allows_the_style_and_the_script_alone(html: str) -> None:
    page = Parsed(html)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv")) or ""
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'" and "unsafe" not in policy
    run = page.scripts()
    for kind, blocks in (("style", page.blocks["style"]), ("script", run)):
        digests = [hashlib.sha256(block.encode()).digest() for block in blocks]
        sources = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
        assert allowed[f"{kind}-src"] == " ".join(sources)


def test_hostile_texts_are_shown_as_texts(tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(text(hostile()), encoding="utf-8")
    entry = read_entry("hostile", path)
    assert entry.status == "verified", entry.reason
    html = document([entry])
    assert len(html) < 2_500_000  # with the certificate itself, which has 600 thousand
    page = Parsed(html)
    assert [tag for tag, _ in page.tags].count("script") == 5
    for attack in ATTACKS:
        assert printable(attack) in page.text
    assert not [x for x in html if not x.isprintable() and x not in "\n\N{THIN SPACE}"]
    html.encode()


@given(st.text(st.characters(codec=None, categories=None), max_size=50))
def test_printable_texts_are_printable(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() and len(shown) == len(text)
    assert shown == text or not text.isprintable()
    assert len(printable(text * LONGEST)) <= LONGEST + 60


def test_the_data_in_the_page_are_the_summaries(folder: Path, html: str) -> None:
    page = Parsed(html)
    kinds = [attributes.get("type") for tag, attributes in page.tags if tag == "script"]
    block = page.blocks["script"][kinds.index("application/json")]
    rows = json.loads(block)
    assert not set("<>&") & set(block)
    expected = [asdict(summarise(entry)) for entry in entries(folder)]
    assert [row["risk_bound"] for row in rows] == [row["risk_bound"] for row in expected]
    assert {row["file"] for row in rows} == {row["file"] for row in expected}


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("forged", "rejected", "does not verify. Do not rely on it."),
        ("cut", "unreadable", "cannot be read as a certificate"),
        ("vacuous", "vacuous", "This certificate is vacuous."),
        ("gibbs", "verified", "Where the bound comes from"),
    ],
)
def test_what_does_not_verify_is_loud_and_claims_nothing(
    folder: Path, name: str, status: str, words: str
) -> None:
    entry = read_entry(name, folder / f"{name}.json")
    page = Parsed(document([entry]))
    assert entry.status == status and words in page.text
    alerts = [a for _, a in page.tags if a.get("role") == "alert"]
    assert bool(alerts) == (status != "verified")
    if entry.verified is None:
        said = page.text.replace(entry.reason, "")
        assert "1.24 %" not in said and "0.012345" not in said
        assert not [a for _, a in page.tags if a.get("class") in ("waterfall", "claim verified")]
        assert entry.reason in page.text


def test_a_file_that_nobody_can_read_is_listed(tmp_path: Path) -> None:
    entry = read_entry("absent", tmp_path / "absent.json")
    assert entry.status == "unreadable" and "No such file" in entry.reason
    assert "No such file" in document([entry])


@pytest.mark.parametrize("name", CASES)
def test_a_page_says_claims_figures_and_digests(folder: Path, name: str) -> None:
    shown = certificate(name)
    page = Parsed(document([read_entry(name, folder / f"{name}.json")])).text
    assert shown.sentence in page
    assert percent_up(principal(shown).bound) in page
    for claim in shown.claims:
        assert percent_up(claim.bound) in page
    for term in terms(shown):
        assert repr(term.total) in page and term.amount in page
    for line in ledger_lines(shown):
        assert line.name in page and line.meaning in page and line.cost in page
    file = hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest()
    evidence, part = shown.evidence, shown.prior.part
    digests = [file, shown.data.sha256, shown.model.sha256, shown.prior.sha256]
    digests += [evidence.weights_sha256 if evidence else None, part.sha256 if part else None]
    digests += [claim.cost_sha256 for claim in shown.claims]
    digests += [extractor.sha256 for extractor in shown.model.extractors]
    for digest in filter(None, digests):
        assert digest in page
    assert shown.made.command in page


@pytest.mark.parametrize("name", GOOD)
def test_every_good_vector_has_a_page_that_holds_the_bytes_that_were_checked(name: str) -> None:
    path = VECTORS / f"accepted-{name}.json"
    entry = read_entry(name, path)
    assert entry.verified is not None, entry.reason
    page = Parsed(document([entry]))
    assert printable(entry.verified.certificate.sentence) in page.text
    drawn = [a for tag, a in page.tags if tag == "svg" and a.get("class") == "claimed"]
    claims = len(entry.verified.certificate.claims)
    assert len(drawn) == (claims if claims > 1 else 0)
    kinds = [attributes.get("type") for tag, attributes in page.tags if tag == "script"]
    block = page.blocks["script"][kinds.index("application/pacbound-certificate")]
    assert base64.b64decode(block, validate=True) == path.read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_bars_continue_each_other_to_the_bound(name: str) -> None:
    shown = certificate(name)
    steps = terms(shown)
    drawing = ElementTree.fromstring(str(waterfall(steps)))
    bars = [node for node in drawing.iter("rect") if node.get("class") == "bar"]
    spans = []
    for bar in bars:
        start = float(bar.attrib["x"].rstrip("%"))
        spans.append((start, start + float(bar.attrib["width"].rstrip("%"))))
    *spans, bound = spans
    scale = bound[1] / (100 * float(principal(shown).bound))  # of the drawing to per cent
    assert bound[0] == 0 and max(end for _, end in spans) <= SHARE + 1e-6
    for (start, end), step in zip(spans, steps, strict=True):
        top = max(step.total, step.total - step.adds)  # a density ratio may be negative
        assert end == pytest.approx(100 * top * scale, abs=0.01)
        assert end - start == pytest.approx(
            max(100 * abs(step.adds) * scale, min(SLIVER, end)), abs=0.01
        )


@pytest.mark.parametrize("name", [name for name in CASES if len(certificate(name).claims) > 1])
def test_bars_of_claims_are_to_scale(name: str) -> None:
    lines = [claim_line(claim) for claim in certificate(name).claims]
    most = max(line.bound for line in lines)
    for line in lines:
        drawing = ElementTree.fromstring(str(claim_bar(line, most)))
        pieces = [node.attrib for node in drawing.iter("rect")]
        widths = [float(piece["width"].rstrip("%")) for piece in pieces]
        assert sum(widths) == pytest.approx(100 * line.bound / most, abs=0.02)
        assert widths[0] == pytest.approx(100 * line.empirical / most, abs=0.01)
        assert len(widths) == (2 if line.limit is None else 3)


def test_curves_go_through_the_epochs(tmp_path: Path) -> None:
    path = tmp_path / "net.log.jsonl"
    write_log(path, epochs=5)
    log = read_training_log(path)
    both, kl = (ElementTree.fromstring(str(drawing)) for drawing in curves(log))
    lines = {str(node.get("class")): str(node.get("d")) for node in [*both.iter(), *kl.iter()]}
    for name, series in (("line bound", log.series("bound")), ("line risk", log.series("risk"))):
        points = [tuple(map(float, point.split())) for point in re.split("[ML]", lines[name])[1:]]
        assert [x for x, _ in points] == pytest.approx(
            [WIDTH * k / 5 for k in range(1, 6)], abs=0.1
        )
        heights = [HEIGHT - y for _, y in points]
        # 60 % is the largest, and a round number: the top of the axis
        assert heights == pytest.approx([HEIGHT * value / 0.6 for value in series], abs=0.1)
    titles = [node.text or "" for node in kl.iter("title")]
    assert titles[4] == "epoch 5, 50 s: KL 3500 nats"


@pytest.mark.parametrize("epochs", [0, 1, 5000])
def test_short_and_long_logs(tmp_path: Path, epochs: int) -> None:
    path = tmp_path / "net.log.jsonl"
    write_log(path, epochs)
    drawings = curves(read_training_log(path))
    assert len(drawings) == (2 if epochs > 1 else 0)
    assert sum(map(len, drawings)) < 150_000
    assert epochs < 2 or "epoch 5000" in drawings[0]


def test_curves_have_gaps_where_there_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "net.log.jsonl"
    rows = [(1, 0.5), (2, None), (3, 0.4), (4, 0.3), (5, float("inf"))]
    lines = [json.dumps({"epoch": epoch, "seconds": 0, "risk": risk}) for epoch, risk in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (drawing,) = curves(read_training_log(path))  # no KL, so no drawing of it
    assert re.findall('class="line risk" d="([^"]*)"', drawing)[0].count("M") == 2


@given(
    st.floats(-1e6, 1e6), st.floats(0, 1e6).filter(lambda x: x == 0 or x > 1e-3), st.integers(2, 9)
)
@example(5e-324, 0.0, 2)
@example(0.0, 5e-324, 2)
def test_axes_are_round_and_reach_around(low: float, spread: float, most: int) -> None:
    scale = axis(low, low + spread, most)
    assert scale.low <= low + 1e-6 * scale.step and scale.high >= low + spread - 1e-6 * scale.step
    assert 2 <= len(scale.ticks) <= most + 1
    digits = f"{scale.step:.3e}".partition("e")[0]
    assert float(digits) in (1, 2, 5)


def test_marks_of_an_interval_are_to_scale() -> None:
    drawing = ElementTree.fromstring(str(interval_bar(0.05, 0.15, 0.2, 0.06, 0.18)))
    found = {str(node.get("class")): node.attrib for node in drawing.iter()}
    assert (found["bar"]["x"], found["bar"]["width"]) == ("25.00%", "50.00%")
    assert (found["test"]["cx"], found["paper"]["x1"]) == ("30.00%", "90.00%")


@pytest.mark.parametrize(
    ("recipe", "posterior", "objective", "bound"),
    [
        ("mlp-600", "k-linear", "quadratic", 21.69),  # the best, for an objective of our own
        ("mlp-600", "k-linear", "catoni", 22.88),
        ("mlp-30", "k-linear", "quadratic", None),
    ],
)
def test_only_counterparts_stand_beside_the_paper(
    recipe: str, posterior: str, objective: str, bound: float | None
) -> None:
    shown = Certificate.load(VECTORS / "accepted-gibbs-mnist-size.json")
    shown = replace(
        shown,
        data=replace(shown.data, name="mnist"),
        model=replace(shown.model, recipe=recipe, posterior=posterior),
        made=replace(shown.made, settings={"objective": objective}),
    )
    column = paper_column(shown)
    assert (column and column.bound) == bound
    entry = Entry(
        "mnist", Path("mnist.json"), "verified", "", "", Verified(shown, explain(shown), None)
    )
    assert ("Beside the paper" in document([entry])) == (bound is not None)
    for other in (
        replace(shown, predictor="vote-gibbs"),
        replace(shown, prior=replace(shown.prior, kind="elsewhere")),
        replace(shown, data=replace(shown.data, name="fashion-mnist")),
    ):
        assert paper_column(other) is None


def test_columns_that_are_empty_everywhere_are_left_out(folder: Path) -> None:
    """A file that does not verify, or a vote, has no test error; few have a figure of the paper."""
    found = [*entries(folder), *entries(ROOT / "certificates")]
    without = [each for each in found if summarise(each).paper_bound is None]
    assert 1 < len(without) < len(found)
    for title, sign in (("Paper %", "the paper's bound"), ("Test %", "test error")):
        assert f">{title}</button>" in document(found)
        assert f">{sign}</span>" in document(found)
    assert ">Paper %</button>" not in document(without)
    assert ">the paper's bound</span>" not in document(without)
    unreadable = [each for each in found if summarise(each).risk_bound is None]
    assert len(unreadable) > 1
    for title in ("Bound %", "Test %", "Posterior"):
        assert f">{title}</button>" not in document(unreadable)
    assert ">Status</button>" in document(unreadable)


def test_a_page_of_many_certificates_is_small() -> None:
    html = document([read_entry(name, VECTORS / f"accepted-{name}.json") for name in GOOD[:24]])
    assert len(html.encode()) < 1_500_000


def test_files_are_gathered_once_and_under_their_own_names(tmp_path: Path) -> None:
    content = text(case("gibbs"))
    for name in ("a/one.json", "b/one.json", "b/deep/two.json", "b/.hidden/three.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "b/other.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "b/damaged.json").write_text("{", encoding="utf-8")
    found = gather([tmp_path / "a", tmp_path / "b", tmp_path / "b/deep/two.json"])
    first, second = ((tmp_path / name).as_posix() for name in ("a/one.json", "b/one.json"))
    assert set(found.certificates) == {first, second, "deep/two", "damaged"}
    assert [path.name for path in found.others] == ["other.json"]


def test_there_must_be_something_to_report_on(tmp_path: Path) -> None:
    with pytest.raises(PacboundError, match="no such file or folder"):
        gather([tmp_path / "absent"])
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PacboundError, match="no certificates in"):
        gather([tmp_path])


def luminance(colour: str) -> float:
    """Relative luminance, of the Web Content Accessibility Guidelines 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_and_marks_have_enough_contrast(theme: int) -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
    colours = {name: luminance(both[theme]) for name, *both in pairs}

    def contrast(one: str, other: str) -> float:
        low, high = sorted((colours[one], colours[other]))
        return (high + 0.05) / (low + 0.05)

    for ink in ("text", "muted", "accent", "good", "bad", "doubt"):
        for ground in ("ground", "surface", "faint"):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    for ink in ("good", "bad", "doubt"):
        assert contrast(ink, f"{ink}-ground") >= 4.5, ink
    assert contrast("text", "good-ground") >= 4.5
    for mark in (
        "risk",
        "kl",
        "tail",
        "union",
        "confidence",
        "sampling",
        "vote",
        "bound",
        "ledger",
    ):
        assert min(contrast(mark, "ground"), contrast(mark, "surface")) >= 3, mark
