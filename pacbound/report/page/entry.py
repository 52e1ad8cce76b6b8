"""One file of a report: the checker's verdict, and the content that may be shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pacbound.certificate.checker import MAX_BYTES, verify
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.monitoring import Monitored
from pacbound.report.explanation import Explanation, explain, is_vacuous
from pacbound.report.training_log import TrainingLog, find_training_log, read_training_log

__all__ = ["Entry", "Verified", "read_entry"]


@dataclass(frozen=True)
class Verified:
    """The content shown for an accepted certificate."""

    certificate: Certificate
    explanation: Explanation
    log: TrainingLog | None
    monitored: Monitored | None = None  # what was seen after deployment
    content: bytes = b""  # the file's bytes, for the page to check again in the browser


@dataclass(frozen=True)
class Entry:
    """A file, and the reason for its rejection or its content.

    The content of a rejected file is not kept, so no page can show it as if it were true.
    """

    name: str
    path: Path
    status: str  # verified; vacuous (valid, but no better than guessing); rejected; unreadable
    reason: str = ""
    sha256: str = ""  # of the file
    verified: Verified | None = None


def read_entry(name: str, path: Path, logs: Path | None = None) -> Entry:
    """Check a file; with `logs`, search for its training log as if it were in that folder."""
    if path.exists() and not path.is_file():
        return Entry(name, path, "unreadable", "cannot be read: it is not a regular file")
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return Entry(name, path, "unreadable", f"cannot be read: {error.strerror or error}")
    sha256 = hashlib.sha256(content).hexdigest()
    # Exactly the bytes that are shown are checked. The file may change a moment later.
    verdict = verify(content)
    if not verdict.accepted:
        status = "rejected" if verdict.exit_code == 1 else "unreadable"
        reason = f"{verdict.check} {verdict.reason}".strip()
        return Entry(name, path, status, reason, sha256)
    try:
        certificate = Certificate.from_json(content)
        log = _log(path, certificate, logs)
        verified = Verified(certificate, explain(certificate), log, content=content)
    except PacboundError as error:
        return Entry(name, path, "unreadable", str(error), sha256)
    status = "vacuous" if is_vacuous(certificate) else "verified"
    return Entry(name, path, status, "", sha256, verified)


def _log(path: Path, certificate: Certificate, logs: Path | None) -> TrainingLog | None:
    """The training log, if it can be read; the report also works without it."""
    try:
        found = find_training_log(path, certificate)
        if found is None and logs is not None:
            found = find_training_log(logs / path.name, certificate)
        return read_training_log(found) if found else None
    except (PacboundError, OSError):
        return None
