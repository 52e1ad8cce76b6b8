"""Mutated certificates, some hundreds; `make fuzz` is the long run."""

from __future__ import annotations

import copy

from fuzzed_certificates import certificates, flaws, fuzz_certificates
from javascript_checker import JavaScriptChecker, is_installed


def test_the_third_party_agrees_with_the_vectors_and_not_with_less() -> None:
    for record in certificates()[::5]:
        assert flaws(record) == []
        better = copy.deepcopy(record)
        bound = better["claims"][0]["bound"]
        better["claims"][0]["bound"] = f"{float(bound) * 0.999:.10f}"
        assert flaws(better) != []


def test_both_checkers_judge_mutants_alike() -> None:
    outcome = fuzz_certificates(600, seed=123)
    assert outcome.complaints == []
    assert outcome.counts["rejected"] > 250
    assert outcome.counts["accepted, with other primitives or words"] > 30  # they do come close
    assert len(outcome.checks) > 25


def test_a_process_answers_for_each_file() -> None:
    if is_installed():
        with JavaScriptChecker() as second:
            assert [second.check(text).check for text in (b"", b"{}", b"[]")] == [
                "1.4",
                "1.7",
                "1.7",
            ]
