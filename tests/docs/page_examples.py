"""The examples of a page: found in its Markdown, read as commands, and run as a reader would."""

from __future__ import annotations

import glob
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner
from markdown_it import MarkdownIt

from pacbound.recipes import parse_override, recipe, recipe_names
from pacbound_cli import cli

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]

RUN = ("sh", "console", "python")  # a console block has commands behind "$ " among their output
SHOWN = ("", "text", "json", "yaml")
EXIT_CODE = re.compile(r"# exits with (\d)")
FILE_NAME = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """The lines of a shell block, those that end in a backslash joined to the next."""
        if self.language not in ("sh", "console"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, without MyST's directives."""
    tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
    found = [
        Block(page, (token.map or [0])[0] + 1, token.info.strip(), token.content)
        for token in tokens
        if token.type == "fence"
    ]
    return [block for block in found if not block.language.startswith("{")]


def commands_in_text(page: str) -> Iterator[str]:
    """The `pacbound …` in a page's sentences, but for those that leave something out."""
    for token in MarkdownIt().enable("table").parse((ROOT / page).read_text(encoding="utf-8")):
        for child in token.children or []:
            if child.type == "code_inline" and re.match(r"pacbound [a-z]", child.content):
                text = " ".join(child.content.split())
                if "…" not in text:
                    yield text


def parse(words: list[str]) -> click.Context:
    """Read a command as the command line does, and look up the recipe and settings it names."""
    context = cli.make_context("pacbound", list(words))
    command: click.Command = cli
    while isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = command.make_context(name, rest, parent=context)
    if command.name in ("train", "vi"):
        values = context.params
        given = dict(parse_override(text) for text in values["overrides"])
        named = values.get("recipe") or values.get("network") or "module"
        name = f"vi-{named}" if command.name == "vi" else named
        if name in recipe_names() or given:
            recipe(name, given)
    return context


@dataclass
class Reader:
    """Somebody who does what a page says, in one folder and one Python session.

    Arguments:
        reduced: A command or a Python block with what makes it quick.
        names: What Python examples take for granted.
    """

    reduced: Callable[[str], str]
    names: dict[str, Any] = field(default_factory=dict)

    def follow(self, block: Block, skipped: Callable[[str], bool]) -> None:
        """Do what a block says, but for the commands that are not to be run."""
        if block.language == "python":
            self.run_python(block)
        for command in block.commands():
            if not skipped(command):
                self.run(command, block.place)

    def run_python(self, block: Block) -> None:
        """Run it, or write it to the file that its first line names."""
        if name := FILE_NAME.match(block.text):
            Path(name[1]).write_text(block.text, encoding="utf-8")
        else:
            code = compile(self.reduced(block.text), block.place, "exec")
            exec(code, self.names)

    def run(self, command: str, place: str) -> None:
        """Run a line, and see that it ends as the page says: with 0, or as "# exits with 1"."""
        expected = int(found[1]) if (found := EXIT_CODE.search(command)) else 0
        code, output = self._outcome(self.reduced(command))
        assert code == expected, f"{place}: {command}\nended with {code}\n{output}"

    def _outcome(self, command: str) -> tuple[int, str]:
        words = shlex.split(command, comments=True)
        if words[0] != "pacbound":
            path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
            done = subprocess.run(
                ["bash", "-c", command],
                env={"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr
        assert not {"|", ">", "&&", ";"} & set(words), f"a shell is needed for {command}"
        expanded = [name for word in words[1:] for name in sorted(glob.glob(word)) or [word]]
        result = CliRunner().invoke(cli, expanded)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output
