"""The documentation builds without a warning, needs no network, and leaves no command out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
import yaml
from chromium import PATIENCE, chromium, installed

sys.path.insert(0, str(Path(__file__).parent))

from page_examples import PAGES, ROOT, blocks

from pacbound_cli import cli

ROOT_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


def build(folder: Path) -> Path:
    """The pages, by the command of `make docs` with another place for them."""
    (line,) = re.findall(r"-m (sphinx .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    options = line.replace("build/doctrees", str(folder / "doctrees"))
    command = [sys.executable, "-m", *options.replace("build/docs", str(folder / "html")).split()]
    assert {"-W", "-n", "--keep-going"} <= set(command)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "html"


class _Loads(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        value = dict(attrs).get(LOADED.get(tag, ""))
        if value:
            self.found.append(value)


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, by what is typed."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(inner, (*path, name))


def test_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    """One test, so that they are built once however many workers there are."""
    built = build(tmp_path)
    pages_need_no_network(built)
    mathematics_is_rendered(built)
    every_command_is_in_the_reference(built)
    tables_fit_a_phone(built)


def pages_need_no_network(built: Path) -> None:
    pages = list(built.glob("*.html"))
    assert {page.stem for page in pages} >= {Path(page).stem for page in PAGES[1:]}
    for page in pages:
        reader = _Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        outside = [url for url in reader.found if re.match(r"(https?:)?//", url)]
        assert not outside, f"{page.name} loads {outside}"
    for sheet in built.glob("_static/**/*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text("utf-8"))


def mathematics_is_rendered(built: Path) -> None:
    text = (built / "soundness.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50
    prose = re.sub(r"<math.*?</math>|<code.*?</code>", "", text, flags=re.DOTALL)
    assert "$" not in prose
    assert "\\" not in re.sub(r"<script.*?</script>", "", prose, flags=re.DOTALL)


def every_command_is_in_the_reference(built: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (built / "commands.html").read_text(encoding="utf-8"))
    for typed, command in walk(cli, ("pacbound",)):
        assert re.search(rf"^{typed} (\[OPTIONS\]|[A-Z])", text, re.MULTILINE), typed
        for option in command.params:
            for name in option.opts if isinstance(option, click.Option) else []:
                assert name in text, f"{typed} {name}"


WIDE = {  # pages with tables that scroll in their box on a phone; the set may only shrink
    "bandits",  # six agents side by side
    "certificate-format",  # a frozen list of the format
    "genindex",  # made by Sphinx
}


def tables_fit_a_phone(built: Path) -> None:
    if not installed():
        return  # tests/report say what is missing
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.set_default_timeout(PATIENCE)
        wide = set()
        for file in built.glob("*.html"):
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, file.name
            if page.evaluate(
                "[...document.querySelectorAll('article table')]"
                ".some((x) => x.scrollWidth > x.parentElement.clientWidth + 1)"
            ):
                wide.add(file.stem)
    assert wide <= WIDE, wide - WIDE


def test_every_command_has_help_with_an_example() -> None:
    for typed, command in walk(cli, ("pacbound",)):
        assert re.search(r"(Examples?\b.*|certificate):\n", command.help or ""), typed
        assert typed in (command.help or ""), f"the example of {typed} is of another command"


@pytest.mark.parametrize("page", [*ROOT_PAGES, "certificates/README.md"])
def test_links_of_pages_that_sphinx_does_not_read(page: str) -> None:
    """Sphinx follows those of docs/."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page}: {target}"


def _anchors(page: Path) -> set[str]:
    """Of headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_certificate_that_is_explained_is_a_vector() -> None:
    vectors = ROOT / "pacbound/certificate/vectors"
    certificate = json.loads((vectors / "accepted-spec-b-gibbs.json").read_text("utf-8"))
    explained = {}
    for block in blocks("docs/reading-a-certificate.md"):
        if block.language == "json":
            explained |= json.loads("{" + block.text + "}")
    assert explained == {name: certificate[name] for name in explained}
    assert set(certificate) - set(explained) == {"format", "made"}


def test_the_format_is_a_page() -> None:
    page = (ROOT / "docs/certificate-format.md").read_text(encoding="utf-8")
    assert "include} ../pacbound/certificate/SPEC.md" in page


def test_the_tests_that_guard_soundness_exist() -> None:
    page = (ROOT / "docs" / "soundness.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    written = set(re.findall(r"^def (test_\w+)\(", "\n".join(sources), re.MULTILINE))
    assert len(named) > 20
    assert named <= written, named - written


@pytest.mark.parametrize("page", PAGES)
def test_yaml_can_be_read(page: str) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            assert yaml.safe_load(block.text), block.place
