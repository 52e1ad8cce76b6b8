"""The report's page in Chromium: sorting, filtering, colours, and texts that attack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from chromium import PATIENCE, chromium
from page_cases import write_folder
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pacbound.report.page import Entry, Summary, document, gather, read_entry, summarise
from pacbound.report.page.columns import COLUMNS

expect.set_options(timeout=PATIENCE)
FIELDS = ("name", *(column.field for column in COLUMNS))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@dataclass(frozen=True)
class Made:
    """A page, and what it was made from."""

    path: Path
    summaries: list[Summary]
    entries: list[Entry]

    @property
    def address(self) -> str:
        return self.path.as_uri()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A page of certificates of all kinds; a hostile one is among them."""
    root = tmp_path_factory.mktemp("browser")
    found = gather([write_folder(root / "certificates")])
    entries = [read_entry(name, path) for name, path in found.certificates.items()]
    path = root / "report.html"
    path.write_text(document(entries, found.others), encoding="utf-8")
    return Made(path, [summarise(entry) for entry in entries], entries)


@dataclass
class Seen:
    """A page that is open, and all that should not have happened."""

    page: Page
    problems: list[str] = field(default_factory=list)

    def watch(self, address: str) -> None:
        page, note = self.page, self.problems.append
        page.on("console", lambda message: note(f"console: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("dialog", lambda dialog: (note("dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                note(f"request: {request.url}")
                if request.url.partition("#")[0] != address and not request.url.startswith("data:")
                else None
            ),
        )


def opened(context: BrowserContext, address: str) -> Seen:
    seen = Seen(context.new_page())
    seen.watch(address)
    seen.page.goto(address)
    return seen


@pytest.fixture
def seen(browser: Browser, made: Made) -> Iterator[Seen]:
    """The page; at the end of a test nothing may have been fetched, logged or attacked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    seen = opened(context, made.address)
    yield seen
    assert seen.problems == []
    assert seen.page.evaluate("window.attacked") is None
    context.close()


def column(page: Page, name: str) -> list[str]:
    """The values of a column, from the top row down."""
    cells = page.locator(f"#certificates tbody tr > :nth-child({place(page, name)})")
    return [str(x) for x in cells.evaluate_all("cells => cells.map(x => x.dataset.value)")]


def place(page: Page, name: str) -> int:
    headings = page.locator("#certificates thead th")
    fields: list[str] = headings.evaluate_all("cells => cells.map(x => x.dataset.field || '')")
    return fields.index(name) + 1


def shown(page: Page) -> set[str]:
    """The names of the rows that are not filtered out."""
    rows = page.locator("#certificates tbody tr:visible th")
    return set(rows.evaluate_all("cells => cells.map(x => x.dataset.value)"))


def heading(page: Page, name: str) -> Any:
    return page.locator(f'#certificates thead th[data-field="{name}"]')


def test_columns_sort_up_and_down_with_what_is_missing_last(seen: Seen, made: Made) -> None:
    for name in FIELDS:
        values = [getattr(row, name) for row in made.summaries]
        known = sorted(value for value in values if value is not None)
        if not known:  # such a column is left out
            expect(heading(seen.page, name)).to_have_count(0)
            continue
        button = heading(seen.page, name).locator("button")
        for order, expected in (("ascending", known), ("descending", known[::-1])):
            button.click()
            expect(heading(seen.page, name)).to_have_attribute("aria-sort", order)
            found = column(seen.page, name)
            shown = found[: len(known)]
            if all(isinstance(value, str) for value in known):
                assert [x[:20] for x in shown] == [x[:20] for x in expected]
            else:
                assert [float(x) for x in shown] == expected
            assert found[len(known) :] == [""] * (len(values) - len(known))
        assert seen.page.locator("th[aria-sort]").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_the_overview_of_published_certificates_fits(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    """On a desktop without scrolling; on a telephone only the table scrolls, not the page."""
    found = gather([Path(__file__).parents[2] / "certificates"])
    entries = [read_entry(name, path) for name, path in found.certificates.items()]
    target = tmp_path / "report.html"
    target.write_text(document(entries, found.others), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(target.as_uri())
    too_wide = "x => document.querySelector(x).scrollWidth > document.querySelector(x).clientWidth"
    assert not page.evaluate(too_wide, "html")
    if width > 1000:
        assert not page.evaluate(too_wide, ".scroll:has(> #certificates)")
    page.close()


def test_headings_work_by_keyboard(seen: Seen) -> None:
    heading(seen.page, "m").locator("button").focus()
    seen.page.keyboard.press("Enter")
    expect(heading(seen.page, "m")).to_have_attribute("aria-sort", "ascending")
    seen.page.keyboard.press("Space")
    expect(heading(seen.page, "m")).to_have_attribute("aria-sort", "descending")


def test_filters_keep_the_rows_and_sections_that_fit(seen: Seen, made: Made) -> None:
    for name, chosen in (
        ("data", "mnist"),
        ("posterior", "k-nonlinear"),
        ("predictor", "draw"),
        ("prior", "learned"),
        ("status", "rejected"),
    ):
        fits = {row.name for row in made.summaries if getattr(row, name) == chosen}
        assert 0 < len(fits) < len(made.summaries)
        seen.page.select_option(f'select[data-field="{name}"]', chosen)
        expect(seen.page.locator("#count")).to_have_text(f"{len(fits)} of {len(made.summaries)}")
        assert shown(seen.page) == fits
        assert seen.page.locator("details.card:visible").count() == len(fits)
        seen.page.click("button[type=reset]")
        expect(seen.page.locator("tbody tr:visible")).to_have_count(len(made.summaries))


def test_words_are_found_in_names_recipes_and_reasons(seen: Seen, made: Made) -> None:
    every = len(made.summaries)
    for words, fits in (
        ("VACU", {"vacuous"}),
        ("11.5 bound", {"forged"}),
        ("MLP-600-learned", {"centre", "draw"}),
        ("nothing has this", set()),
    ):
        seen.page.fill("#find", words)
        expect(seen.page.locator("#count")).to_have_text(f"{len(fits)} of {every}")
        assert shown(seen.page) == fits
    expect(seen.page.locator("#nothing")).to_be_visible()


def test_a_link_opens_the_section(seen: Seen) -> None:
    link = seen.page.locator("#certificates tbody a", has_text="sampled")
    target = link.get_attribute("href")
    section = seen.page.locator(f"details:has({target})")
    for _ in range(2):
        link.click()
        expect(section.locator(".claim")).to_be_visible()
        section.locator("summary").first.click()  # the same link opens it again


def test_colours_follow_the_system_and_the_button(seen: Seen) -> None:
    page, button = seen.page, seen.page.locator("#theme")

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    expect(button).to_have_text("Dark")
    light = ground()
    page.emulate_media(color_scheme="dark")
    expect(button).to_have_text("Light")
    dark = ground()
    assert light != dark
    button.click()
    expect(button).to_have_text("Dark")
    assert ground() == light
    page.reload()
    expect(button).to_have_text("Dark")
    assert ground() == light  # the choice is kept, against the system's
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert ground() == dark


def test_digests_are_copied(seen: Seen, made: Made) -> None:
    page = seen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#unfold")
    entry = next(entry for entry in made.entries if entry.name == "draw")
    row = page.locator("dl.digests dd", has_text=entry.sha256)
    row.locator("button").click()
    # Writing to the clipboard takes its time; the button says when it is done.
    expect(row.locator("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == entry.sha256


def test_certificates_are_checked_again_in_the_browser(seen: Seen, made: Made) -> None:
    expect(seen.page.locator("html[data-rechecked=done]")).to_be_attached(timeout=PATIENCE)
    accepted = sum(entry.verified is not None for entry in made.entries)
    assert seen.page.locator(".rechecked.accepted").count() == accepted
    assert seen.page.locator(".rechecked.refused").count() == 0


def test_what_the_browser_refuses_is_loud(browser: Browser, made: Made, tmp_path: Path) -> None:
    """As if the page had been made by a checker that accepts too much."""
    entry = next(entry for entry in made.entries if entry.name == "gibbs")
    assert entry.verified is not None
    wrong = entry.verified.content.replace(b'"errors": ', b'"errors": 1')
    assert wrong != entry.verified.content
    path = tmp_path / "page.html"
    changed = replace(entry, verified=replace(entry.verified, content=wrong))
    path.write_text(document([changed, *made.entries[:2]]), encoding="utf-8")
    context = browser.new_context()
    seen = opened(context, path.as_uri())
    expect(seen.page.locator("html[data-rechecked=done]")).to_be_attached(timeout=PATIENCE)
    assert seen.page.locator(".badge", has_text="rejected in this browser").count() == 1
    seen.page.click("#unfold")
    expect(seen.page.locator(".rechecked.refused")).to_contain_text("REJECTED, check 10.")
    assert seen.problems == []
    context.close()


def test_many_claims_are_a_table_with_bars(seen: Seen, made: Made) -> None:
    entry = next(entry for entry in made.entries if entry.name == "fixed")
    assert entry.verified is not None
    card = seen.page.locator("details.card", has=seen.page.locator("h3", has_text="fixed"))
    card.locator("summary").first.click()
    rows = card.locator("table.claims tbody tr")
    expect(rows).to_have_count(len(entry.verified.certificate.claims))
    for index in range(rows.count()):
        box = rows.nth(index).locator("rect").last.bounding_box()
        assert box is not None and box["height"] > 5


def test_nothing_is_wider_than_the_window(seen: Seen) -> None:
    seen.page.click("#unfold")
    seen.page.locator("details").evaluate_all("all => all.forEach(x => (x.open = true))")
    for width in (1280, 820, 400, 320):
        seen.page.set_viewport_size({"width": width, "height": 800})
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_training_is_drawn_where_there_is_a_log(seen: Seen, made: Made) -> None:
    logs = [row for row in made.summaries if row.training_log]
    assert logs and seen.page.locator(".curves").count() == len(logs)
    seen.page.click("#unfold")
    box = seen.page.locator(".curve path.line").first.bounding_box()
    assert box and box["width"] > 200 and box["height"] > 50


def test_prints_without_controls_and_with_all_sections(seen: Seen) -> None:
    seen.page.emulate_media(media="print")
    assert not seen.page.locator(".filters").is_visible()
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("details:not([open])").count() == 0
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.locator("details.card[open]").count() == 0


def test_everything_is_there_without_scripts(browser: Browser, made: Made) -> None:
    context = browser.new_context(java_script_enabled=False)
    seen = opened(context, made.address)
    page = seen.page
    assert page.locator("#certificates tbody tr:visible").count() == len(made.summaries)
    assert not page.locator(".filters").is_visible() and not page.locator("#theme").is_visible()
    section = page.locator("details.card", has_text="sampled").first
    section.locator("summary").first.click()
    for part in (".claim", ".waterfall", ".digests", ".points", ".remedies", ".ledger-table"):
        expect(section.locator(part).first).to_be_visible()
    assert not section.locator("button:visible").count()
    assert seen.problems == []
    context.close()


@pytest.mark.parametrize("name", ["gibbs", "fixed", "vacuous", "forged", "cut"])
def test_pages_of_one_file(browser: Browser, made: Made, tmp_path: Path, name: str) -> None:
    entry = next(entry for entry in made.entries if entry.name == name)
    path = tmp_path / "one.html"
    path.write_text(document([entry]), encoding="utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 800})
    seen = opened(context, path.as_uri())
    assert seen.page.inner_text("h1") == name
    assert seen.page.locator(".claim").count() == (entry.verified is not None)
    assert seen.page.locator("[role=alert]:visible").count() == (
        name in ("vacuous", "forged", "cut")
    )
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert seen.problems == []
    context.close()
