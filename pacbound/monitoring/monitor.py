"""`pacbound.monitor`: watch the claims of a certificate after deployment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pacbound.certificate.checker import MAX_BYTES, verify
from pacbound.certificate.format import Certificate, Claim
from pacbound.errors import CertificateError, DataError, MonitorError, SettingError, by_caller
from pacbound.files import ensure_writable
from pacbound.monitoring.outcomes import NONE, Outcomes, Source, read_outcomes
from pacbound.monitoring.process import fold
from pacbound.monitoring.sequential import MOST_OUTCOMES, SCALE, log_evidence, lower_limit
from pacbound.monitoring.state import START, Point, State, Watched, read_state
from pacbound.monitoring.watching import bets, family, watched

__all__ = [
    "ALPHA",
    "Monitored",
    "WatchedClaim",
    "certificate_digest",
    "load_monitored",
    "monitor",
    "observe",
]

ALPHA = Decimal("0.01")
LEAST = Decimal("1e-12")


@dataclass(frozen=True)
class WatchedClaim:
    """A claim and what the outcomes say about it.

    If the claim holds, its evidence ever reaches 1/share with probability at most `share`.
    """

    claim: Claim
    share: float  # of alpha
    outcomes: int
    total: Decimal  # the sum of their losses
    log_evidence: float  # natural logarithm, rounded down
    lower_limit: Decimal  # of the risk, now; rounded down
    refuted_at: int | None  # the outcome of the stream, from 1
    history: tuple[Point, ...]

    @property
    def mean(self) -> float:
        """The mean loss of the outcomes; 0 without any."""
        return float(self.total) / self.outcomes if self.outcomes else 0.0

    def fields(self) -> dict[str, Any]:
        """The figures as JSON values."""
        claim = self.claim
        named = {"class": claim.class_, "group": claim.group, "cost": claim.cost}
        return {
            "subject": claim.subject,
            **{name: value for name, value in named.items() if value is not None},
            "loss": claim.loss,
            "bound": float(claim.bound),
            "share": self.share,
            "outcomes": self.outcomes,
            "mean": self.mean,
            "log_evidence": self.log_evidence,
            "lower_limit": float(self.lower_limit),
            "refuted_at": self.refuted_at,
        }


@dataclass(frozen=True)
class Monitored:
    """What the outcomes so far say about a certificate."""

    certificate: Certificate
    alpha: Decimal
    rows: int  # outcomes so far
    new_rows: int  # outcomes of this call
    points: tuple[int, ...]  # rows at which the claims' histories are kept
    claims: tuple[WatchedClaim, ...]
    left_out: dict[str, str]  # claims that are not watched, and why
    other_groups: int = 0  # outcomes of this call in groups that no watched claim is about

    @property
    def refuted(self) -> bool:
        """Whether some claim is refuted."""
        return any(each.refuted_at is not None for each in self.claims)

    def fields(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "refuted": self.refuted,
            "alpha": float(self.alpha),
            "outcomes": self.rows,
            "new_outcomes": self.new_rows,
            "claims": [each.fields() for each in self.claims],
            "left_out": self.left_out,
            "new_outcomes_of_other_groups": self.other_groups,
        }


def certificate_digest(certificate: Certificate) -> str:
    """SHA-256 of a certificate's content, however its file is laid out."""
    return hashlib.sha256(certificate.to_json().encode()).hexdigest()


def monitor(
    certificate: Certificate | str | os.PathLike[str],
    outcomes: Source,
    *,
    alpha: float | Decimal | None = None,
    claims: Sequence[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    append: bool = False,
) -> Monitored:
    """Compare labelled outcomes after deployment with the claims of a certificate.

    Every claim is a bet (`pacbound.monitoring.sequential`). While all claims hold, the probability
    that any of them is ever called refuted is at most `alpha`, however often this function is
    called.
    Outcomes must be unselected: which inputs get a label must not depend on whether the prediction
    was wrong. Complaints, or cases of low confidence, are a selection.

    An outcome is the prediction of the predictor that is certified, for one new input. For `gibbs`
    that is a network drawn freshly for this input; for a vote, its vote; for `draw` and `fixed`,
    the one network.

    Arguments:
        certificate: A certificate or its file. It is verified first.
        outcomes: A CSV file, a mapping of columns, or a data frame. Columns: `label` and
            `prediction`, or `error`; `group`, `answered`, `cost` for claims about them.
        alpha: The probability of a false alarm, divided equally among the claims that are watched;
            0.01 by default. A state keeps its own.
        claims: Kinds of claims to watch (overall, per-class, predicted-class, groups, answered,
            cost); by default all whose columns are there. A state keeps its own.
        state: A file to continue from, and to write to. The outcomes are the whole history: they
            must begin with the rows that the state has seen.
        append: The outcomes are new rows alone.

    Example:
        >>> import pacbound
        >>> seen = {"label": [0, 1] * 10, "prediction": [0, 0] * 10}
        >>> result = pacbound.monitor(certificate, seen)  # doctest: +SKIP
        >>> result.refuted, result.claims[0].lower_limit  # doctest: +SKIP
    """
    result, save = observe(
        certificate, outcomes, alpha=alpha, claims=claims, state=state, append=append
    )
    save()
    return result


def observe(
    certificate: Certificate | str | os.PathLike[str],
    outcomes: Source,
    *,
    alpha: float | Decimal | None = None,
    claims: Sequence[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    append: bool = False,
) -> tuple[Monitored, Callable[[], None]]:
    """What `monitor` finds, and a function that writes the state, for who shows the result first.

    For the arguments see `monitor`.
    """
    if append and state is None:
        raise SettingError("append continues a state: give the state")
    checked = _checked(certificate)
    share = None if alpha is None else _alpha(alpha)
    rows = read_outcomes(outcomes, checked)
    path = None if state is None else Path(state)
    if path is not None and path.exists():
        kept = read_state(path, checked, certificate_digest(checked))
        start = _continue(kept, rows, path, share, claims, append)
        left_out = _unwatched(kept, checked)
    else:
        if path is not None:
            ensure_writable(path)
        chosen, left_out = watched(checked, rows, claims)
        watches = [Watched(claim) for claim in chosen]
        kept = State(certificate_digest(checked), share or ALPHA, tuple(rows.columns), watches)
        start = 0
    new = len(rows) - start
    if kept.rows + new > MOST_OUTCOMES:
        raise DataError(f"over {MOST_OUTCOMES} outcomes: begin a new state")
    digest = rows.digest(start, len(rows), kept.digest)
    own = [bets(each.claim, checked, rows, start, kept.rows) for each in kept.claims]
    fold(kept, own, kept.rows + new)
    kept.digest = digest
    result = replace(
        _result(kept, checked, new, left_out), other_groups=_other_groups(kept, rows, start)
    )
    return result, (lambda: None) if path is None else (lambda: kept.save(path))


def load_monitored(certificate: Certificate, state: str | os.PathLike[str]) -> Monitored:
    """The result in a state file, for a certificate that was verified."""
    kept = read_state(Path(state), certificate, certificate_digest(certificate))
    return _result(kept, certificate, 0, _unwatched(kept, certificate))


def _other_groups(kept: State, rows: Outcomes, start: int) -> int:
    """How many new rows are of a group that no claim is about, if groups are watched."""
    if not any(each.claim.group is not None for each in kept.claims):
        return 0
    return int((rows.columns["group"][start:] == NONE).sum())


def _checked(certificate: Certificate | str | os.PathLike[str]) -> Certificate:
    if isinstance(certificate, Certificate):
        content, name = certificate.to_json().encode(), "the certificate"
    else:
        path = Path(certificate)
        name = str(path)
        if path.exists() and not path.is_file():
            raise CertificateError(f"cannot read {path}: it is not a regular file")
        try:
            with path.open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise CertificateError(f"cannot read {path}: {error.strerror}") from error
    verdict = verify(content)
    if not verdict.accepted:
        reason = f"{verdict.check} {verdict.reason}".strip()
        raise CertificateError(f"{name} is rejected, so there is nothing to watch: {reason}")
    return Certificate.from_json(content)


def _alpha(alpha: float | Decimal) -> Decimal:
    try:
        found = alpha if isinstance(alpha, Decimal) else Decimal(repr(float(alpha)))
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"alpha must be a number between 0 and 1, not {alpha!r:.40}") from None
    if not (found.is_finite() and LEAST <= found < 1):
        raise SettingError(f"alpha {alpha} is not between 0 and 1 (at least {LEAST})")
    return found


def _continue(
    kept: State,
    outcomes: Outcomes,
    path: Path,
    alpha: Decimal | None,
    claims: Sequence[str] | None,
    append: bool,
) -> int:
    """The first new row, after checking that these outcomes continue the state."""
    if alpha is not None and alpha != kept.alpha:
        raise MonitorError(f"{path} was begun with alpha {kept.alpha}, which cannot be changed")
    own = {family(each.claim) for each in kept.claims}
    if claims is not None and set(claims) != own:
        raise MonitorError(f"{path} was begun with the claims {', '.join(sorted(own))}")
    missing = [name for name in kept.columns if name not in outcomes.columns]
    if missing:
        raise MonitorError(f"{outcomes.where} has no column {missing[0]}, which {path} began with")
    for name in set(outcomes.columns) - set(kept.columns):
        del outcomes.columns[name]
    if append:
        return 0
    if len(outcomes) < kept.rows:
        raise MonitorError(
            f"{outcomes.where} has {len(outcomes)} rows, and {path} has seen {kept.rows}: give the "
            f"whole history, or {by_caller('--append', 'append=True')} for new rows alone"
        )
    if outcomes.digest(0, kept.rows, START) != kept.digest:
        raise MonitorError(
            f"{outcomes.where} does not begin with the {kept.rows} rows that {path} has seen: they "
            "were changed or are in another order; give the whole history in its order, or "
            f"{by_caller('--append', 'append=True')} for new rows alone"
        )
    return kept.rows


def _unwatched(kept: State, certificate: Certificate) -> dict[str, str]:
    """The claims that a state does not watch."""
    own = {each.claim.key for each in kept.claims}
    others = [claim for claim in certificate.claims if claim.key not in own]
    return {family(claim): "not watched since the state began" for claim in others}


def _result(kept: State, certificate: Certificate, new: int, left_out: dict[str, str]) -> Monitored:
    found = [
        WatchedClaim(
            claim=each.claim,
            share=kept.share,
            outcomes=each.outcomes,
            total=Decimal(each.total) / SCALE,
            log_evidence=log_evidence(each.counts, float(each.claim.bound), each.past),
            lower_limit=lower_limit(each.counts, float(each.claim.bound), kept.share),
            refuted_at=each.refuted_at,
            history=tuple(each.history),
        )
        for each in kept.claims
    ]
    points = tuple(kept.points)
    return Monitored(certificate, kept.alpha, kept.rows, new, points, tuple(found), left_out)
