"""Mutated certificates and checkpoints, some of each; `make fuzz` is the long run."""

from __future__ import annotations

import json

from fuzzed_certificates import certificates, fuzz_certificates
from fuzzed_checkpoints import fuzz_checkpoints
from independent_oracle import flaws


def test_the_oracle_agrees_with_what_is_published_and_not_with_less() -> None:
    for record in certificates()[-30:]:
        assert flaws(json.dumps(record)) == []
        record["claim"]["risk_bound"] *= 0.999
        assert flaws(json.dumps(record)) != []


def test_no_mutated_certificate_crashes_or_is_better_than_its_primitives() -> None:
    outcome = fuzz_certificates(1500, seed=123)
    assert outcome.complaints == []
    assert outcome.counts["rejected"] > 700
    assert outcome.counts["accepted, a weaker claim"] > 10  # the mutants do come close


def test_no_mutated_checkpoint_crashes() -> None:
    outcome = fuzz_checkpoints(600, seed=123)
    assert outcome.complaints == []
    assert outcome.counts["refused"] > 300
    assert outcome.counts["read, and of its network"] > 20
