"""From a checkpoint to a certificate."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import torch

from pacbound import __version__
from pacbound.bounds import binomial, catoni, maurer, mcallester, pinsker
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.bounds.chernoff import risk_limit
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import B, C, index_cost, variance
from pacbound.bounds.rounding import exact, precise, round_up
from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.certify.budget import Budget, split
from pacbound.certify.divergence import GroupPrimitives, primitives
from pacbound.certify.risk import count_errors
from pacbound.data import Dataset
from pacbound.errors import BadInput, unknown_name
from pacbound.networks.initializers import tensors_digest
from pacbound.networks.input_map import map_inputs
from pacbound.recipes.choices import prior_choices
from pacbound.seeds import derive
from pacbound.training.checkpoints import Checkpoint, file_digest, restore_posterior
from pacbound.training.problem import Problem, build

__all__ = ["INEQUALITIES", "Request", "certify", "posterior_of"]

INEQUALITIES = {"mcallester": mcallester.complexity, "maurer": maurer.complexity}
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


def certify(
    path: Path,
    data: Dataset,
    request: Request,
    on_chunk: Callable[[int, int, int, int], None] = lambda chunks, total, errors, draws: None,
) -> Certificate:
    """Issue the certificate of a checkpoint on its training data.

    Nothing is trusted but the posterior's parameters: the prior is made again from its seed, its
    variance put on the grid, m counted, the data hashed, and KL computed in float64.
    """
    start = time.monotonic()
    if request.inequality not in INEQUALITIES:
        raise unknown_name("inequality", request.inequality, INEQUALITIES)
    if data.m < maurer.SMALLEST_M:
        raise BadInput(f"{data.name} has {data.m} training examples; the bound needs at least 8")
    checkpoint = Checkpoint.load(path)
    problem = posterior_of(checkpoint, data, request.allow_other_data)
    digest = file_digest(path)
    budget = split(request.delta, exact_kl=True)
    groups = primitives(problem.network, problem.center, checkpoint.settings.variance_groups)

    seed = derive("risk", digest, data.sha256)
    passes = math.ceil(request.draws / data.m)
    settings = checkpoint.settings
    inputs = map_inputs(data.train_inputs, settings.input_scale, settings.smoothing)
    errors = count_errors(
        problem.network,
        inputs,
        torch.from_numpy(data.train_labels),
        passes,
        seed,
        request.workers,
        on_chunk,
    )
    trials = request.trials or settings.trials
    certificate: dict[str, Any] = {
        "format": checker.FORMAT,
        "claim": {
            "risk_bound": None,
            "delta": float(request.delta),
            "loss": "zero-one",
            "predictor": "gibbs",
            "sentence": "",
        },
        "budget": {name: float(getattr(budget, name)) for name in ("pac_bayes", "risk", "kl")},
        "data": {
            "name": data.name,
            "m": data.m,
            "classes": data.classes,
            "sha256": data.sha256,
        },
        "model": {
            "recipe": settings.recipe,
            "posterior": settings.posterior,
            "parameters": problem.network.parameter_count(),
            "checkpoint_sha256": digest,
        },
        "prior": {
            "center": {
                "kind": "initialization",
                "initializer": settings.initializer,
                "seed": settings.prior_seed,
                "sha256": checkpoint.prior_sha256,
            },
            "variances": [
                {
                    "layers": group.layers,
                    "parameters": group.parameters,
                    "b": B,
                    "c": C,
                    "index": group.index,
                    "value": variance(group.index),
                }
                for group in groups
            ],
            "choices": prior_choices(settings),
            "trials": trials,
        },
    }
    certificate |= _bound(groups, certificate["prior"], errors, passes * data.m, budget, request, data)
    certificate["claim"]["risk_bound"] = certificate["bound"]["value"]
    certificate["also"]["held_out"] = _held_out(problem, checkpoint, data, digest, request.delta)
    certificate["seeds"] = {"derivation": DERIVATION, "risk": seed}
    certificate["claim"]["sentence"] = checker.sentence(certificate)
    certificate["made"] = {
        "pacbound": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": request.command,
        "seconds": round(time.monotonic() - start, 1),
        "settings": settings.to_mapping(),
    }
    return _self_checked(certificate)


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


def _bound(
    groups: list[GroupPrimitives],
    prior: dict[str, Any],
    errors: int,
    draws: int,
    budget: Budget,
    request: Request,
    data: Dataset,
) -> dict[str, Any]:
    """KL, risk, bound and what other inequalities would give, each number on its safe side."""
    with precise():
        kl = sum(
            gaussian_kl(
                _published(group.trace) + _published(group.distance_sq),
                _published(group.log_det),
                group.parameters,
                variance(exact(group.index)),
            )
            for group in groups
        )
        kl_upper = _publish(kl)
        indices = [group.index for group in groups] + [entry["index"] for entry in prior["choices"]]
        union = sum((index_cost(exact(index)) for index in indices), exact(prior["trials"]).log())
        nats = _published(kl_upper) + union
        share = exact(budget.pac_bayes)
        m = exact(data.m)
        complexities = {
            name: _publish(formula(nats, m, share)) for name, formula in INEQUALITIES.items()
        }
        risk_upper = _above(risk_limit(errors, draws, budget.risk))
        risk = _published(risk_upper)
        k = catoni.best_index(risk_upper, float(nats), data.m, float(budget.pac_bayes))
        priced = nats + index_cost(exact(k))
        catoni_value = catoni.bound(risk, priced, m, share, catoni.grid_beta(exact(k)))
        pinsker_value = pinsker.bound(risk, nats, m, share)
    values = {
        name: min(1.0, _above(bernoulli_kl_inverse(_above(risk_upper), _above(complexity))))
        if risk_upper < 1
        else 1.0
        for name, complexity in complexities.items()
    }
    return {
        "kl": {
            "method": "exact",
            "upper": kl_upper,
            "groups": [
                {"trace": g.trace, "distance_sq": g.distance_sq, "log_det": g.log_det}
                for g in groups
            ],
        },
        "risk": {
            "sampler": "per-example",
            "draws": draws,
            "errors": errors,
            "limit": "chernoff",
            "upper": risk_upper,
        },
        "bound": {
            "inequality": request.inequality,
            "complexity": complexities[request.inequality],
            "value": values[request.inequality],
        },
        "also": {
            **values,
            "pinsker": _publish(pinsker_value),
            "catoni": {"beta_index": k, "value": _publish(catoni_value)},
        },
    }


def _held_out(
    problem: Problem, checkpoint: Checkpoint, data: Dataset, digest: str, delta: Decimal
) -> dict[str, Any] | None:
    """The binomial bound from the test set: one draw of every example with its own weights."""
    if data.test_inputs is None or data.test_labels is None:
        return None
    settings = checkpoint.settings
    inputs = map_inputs(data.test_inputs, settings.input_scale, settings.smoothing)
    labels = torch.from_numpy(data.test_labels)
    errors = count_errors(
        problem.network, inputs, labels, 1, derive("held out", digest, data.sha256)
    )
    upper = min(1.0, _above(binomial.upper_limit(errors, len(labels), delta)))
    return {"n": len(labels), "errors": errors, "upper": upper}


def _self_checked(certificate: dict[str, Any]) -> Certificate:
    """Refuse to issue what the checker would not accept."""
    issued = Certificate.from_mapping(certificate)
    verdict = checker.check(issued.to_json())
    if not verdict.accepted:
        raise RuntimeError(f"the issuer and the checker disagree: {verdict.reason}")
    return issued


# A certificate's numbers are decimals: the shortest that read back as the float. What follows from
# a number is computed from that decimal, and a number is moved up by one float where its decimal
# might lie below what was proved.


def _published(number: float) -> Any:
    return exact(repr(number))


def _publish(interval: Any) -> float:
    return _above(round_up(interval))


def _above(number: float) -> float:
    return math.nextafter(number, math.inf)
