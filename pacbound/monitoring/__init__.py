"""Watch certified claims after deployment: evidence that may be read at any time."""

from pacbound.monitoring.monitor import (
    ALPHA,
    Monitored,
    WatchedClaim,
    certificate_digest,
    load_monitored,
    monitor,
    observe,
)
from pacbound.monitoring.state import watched_certificate
from pacbound.monitoring.watching import FAMILIES

__all__ = [
    "ALPHA",
    "FAMILIES",
    "Monitored",
    "WatchedClaim",
    "certificate_digest",
    "load_monitored",
    "monitor",
    "observe",
    "watched_certificate",
]
