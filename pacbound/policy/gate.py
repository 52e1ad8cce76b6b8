#!/usr/bin/env python3
"""Check certificates against a policy, with the standard library alone.

    python -I -S pacbound/policy/gate.py --policy policy.yaml certificates/*.json

For builds and hooks that install nothing; `pacbound verify --policy` is the same. It needs this
file's repository beside it: the checker in `pacbound/certificate/`, and `pacbound/policy/`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

__all__ = ["main"]

NO_TENSORS = (
    "a file of tensors needs `pacbound verify --checkpoint`, with pacbound and torch installed; "
    "here, pin the model's digest with the rule `model` of a policy"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each file or violated rule; 0: all pass, 1: one does not, 2: bad input."""
    # As a script in isolated mode, Python knows no folder to import from.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from pacbound.certificate.checker import check_file
    from pacbound.errors import PacboundError
    from pacbound.policy import judge, read_policy, unmatched

    parser = argparse.ArgumentParser(description="Check risk certificates against a policy.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--policy", metavar="FILE", default="", help="the rules")
    for name in ("--max-risk", "--max-class-risk"):
        parser.add_argument(name, metavar="X", type=float, default=1.0, help="the largest bound")
    parser.add_argument("--checkpoint", metavar="FILE", default="", help="what they must be for")
    parser.add_argument(
        "--partial", action="store_true", help="patterns of the policy may match no FILE"
    )
    options = parser.parse_args(argv)
    given = {"--max-risk": options.max_risk, "--max-class-risk": options.max_class_risk}
    for name, limit in given.items():
        if not 0 <= limit <= 1:  # also what is not a number
            parser.error(f"{name} must be in [0, 1]")
    limits = [Decimal(repr(limit)) for limit in given.values()]
    try:
        policy = read_policy(options.policy) if options.policy else None
    except PacboundError as error:
        print(f"gate: {error}", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # it may lack the quotation marks of names
    tensors = _is_archive(options.checkpoint)
    worst = 0
    for path in options.files:
        verdict = check_file(path, limits[0], options.checkpoint, limits[1])
        if tensors and _is_of_tensors(check_file(path).certificate):
            print(f"gate: {options.checkpoint}: {NO_TENSORS}", file=sys.stderr)
            return 2
        lines, code = [verdict.line(path)], verdict.exit_code
        if policy is not None:
            judged = judge(path, verdict, policy)
            lines, code = judged.lines(), judged.exit_code
        print("\n".join(lines))
        worst = max(worst, code)
    if policy is not None and not options.partial:
        for line in unmatched(policy, options.files).values():
            print(line)
            worst = max(worst, 1)
    return worst


def _is_archive(path: str) -> bool:
    """Whether a file looks like one of torch's; other checks say what cannot be read."""
    if not os.path.isfile(path):
        return False
    with suppress(OSError), open(path, "rb") as stream:
        return stream.read(2) == b"PK"
    return False


def _is_of_tensors(certificate: dict[str, Any] | None) -> bool:
    """Whether a certificate's model has the digest of tensors, not of a file's bytes."""
    sources = ("estimator", "onnx", "predictions")
    return certificate is not None and certificate["model"].get("source") not in sources


if __name__ == "__main__":
    sys.exit(main())
