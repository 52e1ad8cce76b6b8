"""The checker in JavaScript as a process of Node that answers one line for each certificate."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from importlib import resources
from types import TracebackType
from typing import NamedTuple

__all__ = ["Answer", "JavaScriptChecker", "is_installed"]

# One line in (base64), one line out (JSON): no certificate waits for others.
SERVER = """
const read = require("fs").readFileSync;
require("vm").runInThisContext(read(process.argv[1], "utf-8"));
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const start = process.cpuUsage();
  const { accepted, check, reason } = pacboundVerifier.verify(Buffer.from(line, "base64"));
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  console.log(JSON.stringify({ check: accepted ? "accepted" : check, reason, seconds }));
});
"""


class Answer(NamedTuple):
    """The number of the check that failed, or `accepted`; null where the checker gave up."""

    check: str | None
    reason: str
    seconds: float


def is_installed() -> bool:
    return shutil.which("node") is not None


class JavaScriptChecker:
    """Node with the checker of the report's page, for as long as the context lasts."""

    def __enter__(self) -> JavaScriptChecker:
        script = resources.files("pacbound.report.page").joinpath("verifier.js")
        self._process = subprocess.Popen(
            ["node", "-e", SERVER, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self

    def check(self, content: bytes) -> Answer:
        """What it says of the bytes of a file."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(base64.b64encode(content).decode() + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the JavaScript checker ended without an answer")
        return Answer(**json.loads(line))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=600)
