"""How much memory there is, asked before much of it is taken."""

from __future__ import annotations

import os

from pacbound.errors import BadInput

__all__ = ["ensure_memory"]


def ensure_memory(needed: int, what: str) -> None:
    """Refuse what would take more memory than the machine has, or than the process may take."""
    if not hasattr(os, "sysconf"):
        return  # not a Unix
    import resource

    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    if needed > min(limits):
        raise BadInput(
            f"{what} would take {needed / 2**30:.1f} GiB of memory, and there are "
            f"{min(limits) / 2**30:.1f}; give a smaller one"
        )
