"""The page that checks certificates, and the report that checks its own again, in Chromium."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import PATIENCE, chromium
from click.testing import CliRunner
from page_cases import ATTACKS, case, forged, text
from playwright.sync_api import Browser, Page, expect
from speed import once_within
from verifier_cases import examples, good, harmless

from pacbound.report.page import Entry, document, read_entry
from pacbound.report.page.verifier_page import verifier_page
from pacbound_cli import cli

expect.set_options(timeout=PATIENCE)
PRINTABLE_ATTACKS = " ".join(ATTACKS[:5])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def opened(browser: Browser, path: Path, problems: list[str], **options: Any) -> Page:
    """A page that notes whatever should not happen."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(PATIENCE)
    address = path.as_uri()
    page.on("console", lambda message: problems.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (problems.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            problems.append(f"request: {request.url}")
            if request.url != address and not request.url.startswith("data:")
            else None
        ),
    )
    page.goto(address)
    return page


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "verify.html"
    path.write_text(verifier_page(), encoding="utf-8")
    problems: list[str] = []
    page = opened(browser, path, problems, viewport={"width": 1200, "height": 900})
    yield page
    assert problems == []
    assert page.evaluate("window.attacked") is None
    page.context.close()


def choose(page: Page, files: dict[str, bytes]) -> None:
    """Give files to the page and wait until it has checked them."""
    before = page.locator(".result").count()
    page.set_input_files(
        "#files",
        [
            {"name": name, "mimeType": "application/json", "buffer": content}
            for name, content in files.items()
        ],
    )
    expect(page.locator(".result")).to_have_count(before + len(files))


def test_accepted_certificates_are_shown(page: Page) -> None:
    first, second = (text.encode() for text in examples())
    choose(page, {"fixed.json": first, "gibbs.json": second})
    assert page.inner_text("#outcome") == "2 files: 2 accepted, 0 rejected"
    assert page.locator(".verdict").all_inner_texts() == ["ACCEPTED", "ACCEPTED"]
    for name, content in (("fixed.json", first), ("gibbs.json", second)):
        card = page.locator(".result", has=page.get_by_role("heading", name=name))
        assert card.locator(".said").inner_text() == json.loads(content)["sentence"]
    rows = page.locator(".result").nth(1).locator("tbody tr")
    assert rows.count() == 3
    assert rows.first.locator("th, td").all_inner_texts() == [
        "error, all inputs",
        "1\u202f000",
        "6.00",
        "6.26",
        "≤ 16.84",
    ]


def test_bars_add_up_to_the_bound(page: Page) -> None:
    names = ("gibbs", "tandem", "draw", "centre")
    choose(page, {f"{name}.json": json.dumps(good(name)).encode() for name in names})
    for i, name in enumerate(names):
        bounds = [float(claim["bound"]) for claim in good(name)["claims"]]
        stacks = page.locator(".result").nth(i).locator(".stack")
        assert stacks.count() == len(bounds)
        for k, bound in enumerate(bounds):
            widths = stacks.nth(k).evaluate(
                "stack => Array.from(stack.children, bar => parseFloat(bar.style.width))"
            )
            assert sum(widths) == pytest.approx(100 * bound / max(bounds), abs=0.01)
    keys = page.locator(".result").nth(1).locator(".keys li").all_inner_texts()
    assert keys == [
        "observed",
        "Monte Carlo allowance",
        "complexity and confidence",
        "from networks to their vote",
    ]


def test_a_rejected_file_says_why_and_nothing_else(page: Page) -> None:
    record = good("gibbs")
    record["claims"][0]["delta"] = "0.02"
    record["data"]["name"] = "secret name"
    choose(page, {"forged.json": json.dumps(record).encode(), "junk.json": b"\xff"})
    cards = page.locator(".result")
    assert cards.locator(".verdict").all_inner_texts() == ["REJECTED", "REJECTED"]
    words = cards.first.inner_text()
    assert "Check 6.1 failed." in words and "add up to 0.04, not to 0.035" in words
    assert "secret" not in words and "16.84" not in words
    assert "Check 1.2 failed." in cards.nth(1).inner_text()


def test_large_files_are_not_read_whole(page: Page) -> None:
    choose(page, {"large.json": b" " * 5_000_000})
    assert "Check 1.1 failed." in page.locator(".result").inner_text()


def test_text_can_be_pasted(page: Page) -> None:
    page.locator("#paste summary").click()
    page.get_by_label("Text of a certificate").fill(examples()[1])
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".verdict")).to_have_text("ACCEPTED")
    page.get_by_label("Text of a certificate").fill("{}")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".result.rejected")).to_contain_text("Check 1.7 failed.")
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".result").count() == 0


def test_files_can_be_dropped_anywhere(page: Page) -> None:
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.json"));
          for (const kind of ["dragenter", "dragover", "drop"]) {
            document.querySelector("h1").dispatchEvent(
              new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }""",
        examples()[0],
    )
    expect(page.locator(".result h2")).to_have_text("dropped.json")
    assert page.locator("#drop.over").count() == 0


def test_hostile_texts_stay_texts(page: Page) -> None:
    """Accepted, with an attack in every text that may be anything."""
    record = good("fixed")
    attack = PRINTABLE_ATTACKS[:200]
    group = ATTACKS[0][:60]
    record["data"]["name"] = attack
    record["sentence"] = record["sentence"].replace("north", group)
    record["claims"][1]["group"] = group
    record["made"] |= {"command": PRINTABLE_ATTACKS, "training_command": PRINTABLE_ATTACKS}
    record["made"]["settings"] = {"a": PRINTABLE_ATTACKS}
    choose(page, {f"{ATTACKS[0]}.json": json.dumps(record).encode()})
    assert page.locator(".verdict").inner_text() == "ACCEPTED"
    page.locator(".result summary").click()
    words = page.locator(".result").inner_text()
    assert ATTACKS[0] in words and group in words and PRINTABLE_ATTACKS in words
    assert page.locator(".result img, .result script").count() == 0
    unknown = {"format": "pacbound-certificate/2"} | dict.fromkeys(ATTACKS, ATTACKS[0])
    choose(page, {ATTACKS[1].replace("/", "_"): json.dumps(good("fixed") | unknown).encode()})
    assert "Check 2.3 failed." in page.locator(".result.rejected").inner_text()


def test_many_claims_are_shown_in_parts(page: Page) -> None:
    record = good("fixed")
    count = 80
    claim = record["claims"][0] | {"subject": "predicted-class", "delta": "0.000625"}
    record["data"] |= {"classes": count, "groups_sha256": ""}
    record["claims"] = [
        {**claim, "class": i, "m": 10, "errors": 10}
        | {"empirical": "1.0000000000", "bound": "1.0000000000"}
        for i in range(count)
    ]
    head, _, rest = record["sentence"].partition("its error is")
    note = rest.partition(". ")[2].partition(". ")[2]
    clause = f"its error where it predicts each of {count} classes is at most 100.00 %. "
    declared = "The predictor is declared to have been fixed before the counted examples were seen."
    record["sentence"] = f"{head}{clause}{declared} {note or rest.rpartition('seen. ')[2]}"
    choose(page, {"many.json": json.dumps(record).encode()})
    assert page.locator(".verdict").inner_text() == "ACCEPTED", page.locator(".result").inner_text()
    assert page.locator("tbody tr").count() == 51
    page.get_by_role("button", name="Show all 80").first.click()
    assert page.locator("tbody tr").count() == count
    assert page.locator(".stack").count() == 50


def test_24_files_take_less_than_3_seconds(page: Page) -> None:
    contents = [content for _, content in harmless()]
    files = {f"{i}.json": contents[i % len(contents)] for i in range(24)}

    def check() -> None:
        page.reload()
        choose(page, files)

    once_within(3, check)
    assert page.inner_text("#outcome") == "24 files: 24 accepted, 0 rejected"


def test_fits_narrow_windows_in_both_colours(page: Page) -> None:
    choose(page, {name: json.dumps(good(name)).encode() for name in ("gibbs", "draw", "tandem")})
    page.locator("details").evaluate_all("all => all.forEach(x => (x.open = true))")
    for width in (1200, 820, 400, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    grounds = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


def test_works_by_keyboard(page: Page) -> None:
    # Playwright asks for file choosers without waiting for the answer, and a key that is faster
    # opens a chooser that it never sees. A listener and a question to the page come before.
    page.on("filechooser", lambda _: None)
    page.evaluate("0")
    page.locator("#choose").focus()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(
        [{"name": "a.json", "mimeType": "application/json", "buffer": examples()[0].encode()}]
    )
    expect(page.locator(".verdict")).to_have_text("ACCEPTED")


def test_says_that_it_needs_scripts(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "verify.html"
    path.write_text(verifier_page(), encoding="utf-8")
    page = opened(browser, path, [], java_script_enabled=False)
    assert "needs JavaScript" in page.inner_text("main")
    assert not page.locator("#drop").is_visible()
    page.context.close()


def test_the_page_is_one_file_with_a_strict_policy() -> None:
    page = verifier_page()
    policy = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src &#39;none&#39;") and "unsafe" not in policy
    assert "src=" not in page.partition("<main>")[0]
    assert page.count("<script>") == 3


def test_torch_is_not_imported() -> None:
    program = (
        "import sys; from pacbound.report.page.verifier_page import verifier_page; "
        "verifier_page(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "verify.html"
    done = CliRunner().invoke(cli, ["report", "--verifier", str(path)])
    assert done.exit_code == 0, done.output
    assert path.read_text(encoding="utf-8") == verifier_page()
    assert [x.name for x in tmp_path.iterdir()] == ["verify.html"]
    done = CliRunner().invoke(cli, ["report", "--verifier", str(path / "inside.html")])
    assert done.exit_code == 2 and "cannot write" in done.output


# ---- the report checks its certificates again ----------------------------------------------------


def entry(tmp_path: Path, name: str, content: bytes) -> Entry:
    """An entry whose file is of format 2; until the report reads that, its text is of format 1."""
    path = tmp_path / f"{name}.json"
    path.write_text(text(case("gibbs")), encoding="utf-8")
    found = read_entry(name, path)
    assert found.verified is not None
    return replace(found, verified=replace(found.verified, content=content))


def test_the_report_checks_again_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    forged = examples()[1].replace('"errors": 6000', '"errors": 600')
    contents = {"good": examples()[1].encode(), "forged": forged.encode()}
    path = tmp_path / "report.html"
    entries = [entry(tmp_path, name, content) for name, content in contents.items()]
    path.write_text(document(entries), encoding="utf-8")
    problems: list[str] = []
    page = opened(browser, path, problems)
    page.locator("html[data-rechecked=done]").wait_for()
    page.click("#unfold")
    assert page.locator(".rechecked").all_inner_texts() == [
        "checked in this browser: accepted",
        "checked in this browser: REJECTED, check 10.5: claim 1: the mean loss is "
        "0.006000000000…, not 0.0600000000",
    ]
    assert page.locator("summary .badge.rejected").count() == 1
    assert problems == []
    page.context.close()


def test_the_report_checks_24_certificates_in_3_seconds(browser: Browser, tmp_path: Path) -> None:
    contents = [content for _, content in harmless()]
    entries = [entry(tmp_path, str(i), contents[i % len(contents)]) for i in range(24)]
    path = tmp_path / "report.html"
    path.write_text(document(entries), encoding="utf-8")
    problems: list[str] = []
    page = opened(browser, path, problems)

    def check() -> None:
        page.reload()
        page.locator("html[data-rechecked=done]").wait_for()

    once_within(3, check)
    assert page.locator(".rechecked.accepted").count() == 24
    assert problems == []
    page.context.close()


def test_where_nothing_verifies_there_is_nothing_to_check_again(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(text(forged()), encoding="utf-8")
    page = document([read_entry("one", path)])
    assert "pacboundVerifier" not in page and "application/pacbound-certificate" not in page
