"""From a checkpoint to a certificate."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from pacbound import __version__
from pacbound.bounds.maurer import SMALLEST_M
from pacbound.bounds.prior_grid import B, C, variance
from pacbound.certificate import checker
from pacbound.certificate.format import (
    Budget,
    Center,
    Certificate,
    Choice,
    Claim,
    Data,
    HeldOut,
    KLGroup,
    Made,
    Model,
    Prior,
    Seeds,
    Variance,
)
from pacbound.certify.budget import split
from pacbound.certify.conclude import INEQUALITIES, conclude, held_out_limit
from pacbound.certify.divergence import GroupPrimitives, primitives
from pacbound.certify.risk import OnChunk, count_errors, silent
from pacbound.data import Dataset
from pacbound.errors import BadInput, unknown_name
from pacbound.networks.initializers import tensors_digest
from pacbound.networks.input_map import map_inputs
from pacbound.recipes import Settings
from pacbound.recipes.choices import prior_choices
from pacbound.seeds import derive
from pacbound.training.checkpoints import Checkpoint, file_digest, restore_posterior
from pacbound.training.problem import Problem, build

__all__ = ["Request", "certify", "posterior_of"]

DERIVATION = "sha256 of the purpose, the checkpoint's digest and the data's digest; then of chunks"


@dataclass(frozen=True)
class Request:
    """What is asked of a certification, fixed before anything is sampled."""

    delta: Decimal
    inequality: str = "mcallester"
    draws: int = 5_000_000  # at least so many draws of the risk, in whole passes over the data
    trials: int | None = None  # declared instead of the recipe's own
    allow_other_data: bool = False
    workers: int = 1
    command: str = ""


def certify(path: Path, data: Dataset, request: Request, on_chunk: OnChunk = silent) -> Certificate:
    """Issue the certificate of a checkpoint on its training data.

    Nothing is trusted but the posterior's parameters: the prior is made again from its seed, its
    variance put on the grid, m counted, the data hashed, and KL computed in float64.
    """
    start = time.monotonic()
    if request.inequality not in INEQUALITIES:
        raise unknown_name("inequality", request.inequality, INEQUALITIES)
    if data.m < SMALLEST_M:
        raise BadInput(f"{data.name} has {data.m} examples; the bound needs at least {SMALLEST_M}")
    checkpoint = Checkpoint.load(path)
    settings = checkpoint.settings
    problem = posterior_of(checkpoint, data, request.allow_other_data)
    digest = file_digest(path)
    shares = split(request.delta, exact_kl=True)
    groups = primitives(problem.network, problem.center, settings.variance_groups)
    prior = _prior(checkpoint, groups, request.trials or settings.trials)

    def count(
        inputs: NDArray[Any], labels: NDArray[Any], passes: int, seed: str, report: OnChunk
    ) -> int:
        mapped = map_inputs(inputs, settings.input_scale, settings.smoothing)
        targets = torch.from_numpy(labels)
        return count_errors(problem.network, mapped, targets, passes, seed, request.workers, report)

    seed = derive("risk", digest, data.sha256)
    passes = math.ceil(request.draws / data.m)
    errors = count(data.train_inputs, data.train_labels, passes, seed, on_chunk)
    held_out: HeldOut | None = None
    if data.test_inputs is not None and data.test_labels is not None:
        test_seed = derive("held out", digest, data.sha256)
        wrong = count(data.test_inputs, data.test_labels, 1, test_seed, silent)
        held_out = held_out_limit(wrong, len(data.test_labels), request.delta)
    conclusion = conclude(
        data.m,
        prior,
        tuple(KLGroup(g.trace, g.distance_sq, g.log_det) for g in groups),
        errors,
        passes * data.m,
        shares,
        request.inequality,
        held_out,
    )
    certificate = Certificate(
        claim=Claim(conclusion.bound.value, float(request.delta)),
        budget=Budget(float(shares.pac_bayes), float(shares.risk), float(shares.kl)),
        data=Data(data.name, data.m, data.classes, data.sha256),
        model=Model(settings.recipe, settings.posterior, problem.network.parameter_count(), digest),
        prior=prior,
        kl=conclusion.kl,
        risk=conclusion.risk,
        bound=conclusion.bound,
        also=conclusion.also,
        seeds=Seeds(DERIVATION, seed),
        made=_made(request.command, time.monotonic() - start, settings),
    ).in_words()
    verdict = checker.check(certificate.to_json())
    if not verdict.accepted:
        raise RuntimeError(f"the issuer and the checker disagree: {verdict.reason}")
    return certificate


def posterior_of(checkpoint: Checkpoint, data: Dataset, allow_other_data: bool = False) -> Problem:
    """The checkpoint's network and the prior's centre, made anew and compared with its digest."""
    if checkpoint.data["sha256"] != data.sha256 and not allow_other_data:
        raise BadInput(
            f"the checkpoint was trained on other data than this {data.name} (its sha256 begins "
            f"{data.sha256[:12]}, not {checkpoint.data['sha256'][:12]}); --allow-other-data "
            "certifies on it all the same"
        )
    described = (checkpoint.data["classes"], tuple(checkpoint.data["input_shape"]))
    if described != (data.classes, data.input_shape):
        raise BadInput(
            f"the checkpoint is for {described[0]} classes and inputs of shape {described[1]}; "
            f"{data.name} has {data.classes} and {data.input_shape}"
        )
    problem = build(checkpoint.settings, data)
    if tensors_digest(problem.center) != checkpoint.prior_sha256:
        raise BadInput(
            f"the prior's seed {checkpoint.settings.prior_seed} does not give the prior that the "
            "checkpoint records: its digest differs"
        )
    restore_posterior(problem.network, checkpoint.posterior)
    return problem


def _prior(checkpoint: Checkpoint, groups: list[GroupPrimitives], trials: int) -> Prior:
    settings = checkpoint.settings
    return Prior(
        center=Center(
            "initialization",
            settings.initializer,
            settings.prior_seed,
            checkpoint.prior_sha256,
        ),
        variances=tuple(
            Variance(tuple(g.layers), g.parameters, B, C, g.index, variance(g.index))
            for g in groups
        ),
        choices=tuple(Choice(**entry) for entry in prior_choices(settings)),
        trials=trials,
    )


def _made(command: str, seconds: float, settings: Settings) -> Made:
    return Made(
        pacbound=__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=command,
        seconds=round(seconds, 1),
        settings=settings.to_mapping(),
    )
