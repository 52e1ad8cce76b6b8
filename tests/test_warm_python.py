"""Forked processes do what started ones do: arguments, folder, environment, ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from warm_python import WarmPython

SHOW = """
import json, os, sys
known = "torch" in sys.modules, "pacbound" in sys.modules
import pacbound, torch
print(json.dumps([
    sys.argv, os.getcwd(), dict(os.environ), sys.path[0], pacbound.__file__, __name__,
    torch.get_num_threads(), os.isatty(0) or sys.stdin.read(),
]))
print(json.dumps(known))
print("aside", file=sys.stderr)
"""


def test_a_process_is_as_if_it_had_been_started(tmp_path: Path, warm_python: WarmPython) -> None:
    script, folder = tmp_path / "scripts" / "show.py", tmp_path / "folder"
    script.parent.mkdir()
    folder.mkdir()
    script.write_text(SHOW)
    root = str(Path(__file__).parents[1])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "OMP_NUM_THREADS": "2", "A": "b"}
    command = [sys.executable, script, "--one", "two"]
    forked = warm_python.run(command, cwd=folder, env=environment)
    started = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (forked.returncode, forked.stderr) == (0, "aside\n")
    assert (started.returncode, started.stderr) == (0, "aside\n")
    (seen, known), (expected, _) = (
        [json.loads(line) for line in done.stdout.splitlines()] for done in (forked, started)
    )
    for environ in (seen[2], expected[2]):  # some of the machine's make it themselves
        environ.pop("LC_CTYPE", None)
    assert seen == expected
    assert known == [True, False]  # torch is there before, pacbound is not


def test_what_forks_has_one_thread(warm_python: WarmPython) -> None:
    """A lock that another thread held would stay locked in the forked process."""
    assert len(list(Path(f"/proc/{warm_python.pid}/task").iterdir())) == 1


@pytest.mark.parametrize(
    ("code", "returned", "says"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no')", 1, "no\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("import absent_module", 1, "ModuleNotFoundError"),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'at the end')", 0, "at the end"),
    ],
)
def test_ends(code: str, returned: int, says: str, tmp_path: Path, warm_python: WarmPython) -> None:
    (tmp_path / "script.py").write_text(code)
    done = warm_python.run([sys.executable, tmp_path / "script.py"])
    assert done.returncode == returned
    assert says in done.stderr and bool(says) == bool(done.stderr)
    assert not done.stdout


def test_pipes_and_signals(tmp_path: Path, warm_python: WarmPython) -> None:
    (tmp_path / "echo.py").write_text(
        "import sys\nfor line in sys.stdin:\n    print(line.upper(), end='', flush=True)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    one, two = (warm_python.start([sys.executable, tmp_path / "echo.py"], **pipes) for _ in "ab")
    for process in (one, two):
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"line\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"LINE\n"
        assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0.01)
    one.terminate()
    assert one.wait(600) == -signal.SIGTERM
    assert one.stdout is not None and one.stdout.read() == b""
    assert two.stdin is not None and two.poll() is None
    two.stdin.close()  # a pipe that is closed ends its reader: nobody else holds it
    assert two.wait(600) == two.poll() == 0
    two.kill()  # nothing is there to be killed
