#!/usr/bin/env python3
"""Check certificates against a policy, with the standard library alone.

    python -I -S pacbound/policy/gate.py --policy policy.yaml certificates/*.json

For builds and hooks that install nothing; `pacbound verify --policy` is the same. It needs this
file's repository beside it: the checker in `pacbound/certificate/`, and `pacbound/policy/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each file or violated rule; 0: all pass, 1: one does not, 2: bad input."""
    # As a script in isolated mode, Python knows no folder to import from.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from pacbound.certificate.checker import check_file
    from pacbound.errors import PacboundError
    from pacbound.policy import judge, read_policy

    parser = argparse.ArgumentParser(description="Check risk certificates against a policy.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--policy", metavar="FILE", default="", help="the rules")
    for name in ("--max-risk", "--max-class-risk"):
        parser.add_argument(name, metavar="X", type=float, default=1.0, help="the largest bound")
    parser.add_argument("--checkpoint", metavar="FILE", default="", help="what they must be for")
    options = parser.parse_args(argv)
    limits = [Decimal(repr(x)) for x in (options.max_risk, options.max_class_risk)]
    if not all(0 <= limit <= 1 for limit in limits):
        parser.error("--max-risk and --max-class-risk must be in [0, 1]")
    try:
        policy = read_policy(options.policy) if options.policy else None
    except PacboundError as error:
        print(f"gate: {error}", file=sys.stderr)
        return 2
    worst = 0
    for path in options.files:
        verdict = check_file(path, limits[0], options.checkpoint, limits[1])
        lines, code = [verdict.line(path)], verdict.exit_code
        if policy is not None:
            judged = judge(path, verdict, policy)
            lines, code = judged.lines(), judged.exit_code
        print("\n".join(lines))
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
