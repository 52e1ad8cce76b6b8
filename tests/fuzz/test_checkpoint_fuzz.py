"""Mutated checkpoints, some hundreds; `make fuzz` is the long run."""

from __future__ import annotations

from fuzzed_checkpoints import fuzz_checkpoints


def test_no_mutated_checkpoint_crashes() -> None:
    outcome = fuzz_checkpoints(600, seed=123)
    assert outcome.complaints == []
    assert outcome.counts["refused"] > 300
    assert outcome.counts["read, and of its network"] > 20
