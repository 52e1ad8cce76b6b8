"""Public addresses, played by a server on this machine."""

from __future__ import annotations

import gzip
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pacbound.data.sources import SourceFailed
from pacbound.data.sources.url import Mirrors

CONTENT = b"canonical" * 1000


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        packed = gzip.compress(CONTENT)
        if self.path == "/good/file.gz":
            self.send_response(200)
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)
        elif self.path == "/plain/file":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CONTENT)
        elif self.path == "/broken/file.gz":
            self.send_response(200)
            self.send_header("Content-Length", str(len(packed) + 1000))
            self.end_headers()
            self.wfile.write(packed[:50])
        elif self.path == "/portal/file.gz":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>please log in</html>")
        else:
            self.send_error(404)

    def log_message(self, *args):
        pass


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def read(*addresses):
    seen = []
    contents = Mirrors(addresses).read(["file"], lambda *report: seen.append(report))
    return contents, seen


def test_a_file_is_downloaded_and_decompressed(address):
    contents, seen = read(f"{address}/good/")
    assert contents == {"file": CONTENT}
    description, done, total = seen[-1]
    assert description == "downloading file.gz"
    assert done == total == len(gzip.compress(CONTENT))


def test_a_file_without_compression_is_taken_as_it_is(address):
    source = Mirrors((f"{address}/gone/", f"{address}/plain/"), suffix="")
    assert source.read(["file"], lambda *report: None) == {"file": CONTENT}


@pytest.mark.parametrize("first", ["gone", "broken", "portal"])
def test_an_address_without_the_file_is_passed_over(address, first):
    contents, _ = read(f"{address}/{first}/", f"{address}/good/")
    assert contents == {"file": CONTENT}


@pytest.mark.parametrize(
    ("only", "reason"), [("gone", "404"), ("broken", "gzip"), ("portal", "gzip")]
)
def test_the_reason_is_given(address, only, reason):
    with pytest.raises(SourceFailed, match=reason):
        read(f"{address}/{only}/")


def test_one_host_out_of_reach_means_no_further_waiting(address):
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(SourceFailed, match="cannot be reached"):
            read(closed, f"{address}/good/")
