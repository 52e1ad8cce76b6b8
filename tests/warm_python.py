"""Python that has imported torch already: a process that forks for each command.

A start of torch takes two seconds of a processor, a fork a few hundredths. The forked process has
its own arguments, folder, environment and standard files, and runs a module or a file as `python`
would; it imports pacbound itself, and ends as any process. What a start itself could do wrong is
for tests that start Python for real: paths, signals, kills, and what is imported.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn
from unittest import mock

LARGEST = 1 << 20  # bytes of a request
HEAVY = ("torch", "torch._dynamo", "numpy", "scipy.optimize", "scipy.special", "scipy.stats")


class WarmProcess:
    """A forked process, with the part of `subprocess.Popen` that is needed."""

    def __init__(self, arguments: Sequence[str], status: IO[bytes]) -> None:
        self.args = arguments
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.returncode: int | None = None
        self._status, self._lock = status, threading.Lock()
        self.pid = int(status.readline())

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._status)
            if not poll.poll(None if timeout is None else 1000 * timeout):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            with self._lock:
                if self.returncode is None:
                    self.returncode = int(self._status.readline())
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmPython(AbstractContextManager["WarmPython"]):
    """The process that forks; it ends when this is closed, or when its parent ends."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())],
                pass_fds=[other.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )

        self.pid = self._server.pid

    def __exit__(self, *error: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # whoever else may have inherited it
        self._socket.close()
        self._server.wait()

    def start(
        self,
        command: Sequence[str | Path],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> WarmProcess:
        """Run `python [-P] -m module …` or `python file …`, as `subprocess.Popen` does."""
        python, *arguments = map(str, command)
        assert python == sys.executable
        request = {
            "arguments": arguments,
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
        }
        ours: list[IO[bytes] | None] = []
        theirs: list[IO[bytes]] = []
        for wanted, mode in (
            (stdin, "rb"),
            (stdout, "wb"),
            (stderr, "wb"),
            (subprocess.PIPE, "wb"),
        ):
            mine, given = _ends(wanted, mode)
            ours.append(mine)
            theirs.append(given)
        try:
            handles = [file.fileno() for file in theirs]
            socket.send_fds(self._socket, [json.dumps(request).encode()], handles)
        finally:
            for file, wanted in zip(theirs, (stdin, stdout, stderr, None), strict=True):
                if file is not wanted:
                    file.close()
        assert ours[3] is not None
        process = WarmProcess(arguments, ours[3])
        process.stdin, process.stdout = ours[:2]
        return process

    def run(
        self, command: Sequence[str | Path], *, timeout: float | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with its output as text."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = self.start(command, stdout=output, stderr=errors, **options)
            try:
                code = process.wait(timeout)
            finally:
                process.kill()
            output.seek(0)
            errors.seek(0)
            said = output.read().decode(), errors.read().decode()
        return subprocess.CompletedProcess(process.args, code, *said)


def _ends(wanted: int | IO[bytes], mode: str) -> tuple[IO[bytes] | None, IO[bytes]]:
    """Our end of a pipe, where one is wanted, and the file that the process gets."""
    if wanted == subprocess.DEVNULL:
        return None, open(os.devnull, mode)
    if wanted == subprocess.PIPE:
        reading, writing = os.pipe()
        files = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
        return files if mode == "wb" else (files[1], files[0])
    assert not isinstance(wanted, int)
    return None, wanted


@contextmanager
def forked_workers(python: WarmPython) -> Iterator[None]:
    """The worker processes that this process starts are forked."""
    replaced = SimpleNamespace(
        Popen=python.start,
        PIPE=subprocess.PIPE,
        TimeoutExpired=subprocess.TimeoutExpired,
    )
    with mock.patch("pacbound.workers.child.subprocess", replaced):
        yield


# The side that forks ------------------------------------------------------------------------


def serve(requests: socket.socket) -> dict[str, Any]:
    """Fork for each request, and return it in the process that is to run it."""
    while True:
        message, handles, _, _ = socket.recv_fds(requests, LARGEST, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not message:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            return _run_in_child(json.loads(message), handles)
        for handle in handles:
            os.close(handle)


def _run_in_child(request: dict[str, Any], handles: list[int]) -> dict[str, Any]:
    """Fork again: one process runs the command, the other tells its number and how it ended."""
    *standard, status = handles
    if pid := os.fork():
        for handle in (0, 1, 2, *standard):
            os.close(handle)
        os.write(status, b"%d\n" % pid)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):
            os.write(status, b"%d\n" % code)
        os._exit(0)
    os.close(status)
    for place, handle in enumerate(standard):
        os.dup2(handle, place)
        os.close(handle)
    return request


def run(request: dict[str, Any]) -> None:
    """Do what the interpreter does with its arguments."""
    import torch

    environment = request["environment"]
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(int(environment.get("OMP_NUM_THREADS", torch.get_num_threads())))
    arguments = request["arguments"]
    safe = arguments[0] == "-P"
    arguments = arguments[safe:]
    module = arguments[0] == "-m"
    arguments = arguments[module:]
    here = request["folder"] if module else str(Path(arguments[0]).parent)
    given = environment.get("PYTHONPATH", "")
    paths = ([] if safe else [here]) + [path for path in given.split(os.pathsep) if path]
    sys.path[:] = [*paths, *(path for path in sys.path[1:] if path not in paths)]
    sys.argv = arguments
    if module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(arguments[0], run_name="__main__")


def end(code: object) -> NoReturn:
    """What the interpreter does last, but for freeing memory: all of torch would be copied."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    for name in HEAVY:
        __import__(name)
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy all of torch
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        run(request)
    except SystemExit as ended:
        end(ended.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        end(1)
    end(0)
