"""From a checkpoint to a certificate."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import torch
from torch import nn

from pacbound import __version__
from pacbound.bounds.maurer import SMALLEST_M
from pacbound.certificate import checker
from pacbound.certificate.format import (
    Budget,
    Center,
    Certificate,
    Choice,
    Claim,
    Data,
    DrawnRatio,
    ExactKL,
    HeldOut,
    LearnedCenter,
    Made,
    Model,
    MonteCarloKL,
    PerExampleRisk,
    PerWeightsRisk,
    Prior,
    Seeds,
    Variance,
    WholeSetRisk,
)
from pacbound.certify.budget import Shares, split, undivided
from pacbound.certify.chunks import ALONE, Report, Sampler, silent
from pacbound.certify.conclude import (
    INEQUALITIES,
    LIMITS,
    TAILS,
    bound,
    claimed,
    drawn_bound,
    drawn_ratio,
    exact_kl,
    held_out_limit,
    per_example_risk,
    per_weights_risk,
    sampled_kl,
    vote_bound,
    whole_set_risk,
)
from pacbound.certify.divergence import exact_primitives, sampled_primitives
from pacbound.certify.drawn import draw_network, draw_seed, errors_of
from pacbound.certify.risk import BATCH, Examples, errors_per_example, errors_per_weights
from pacbound.data import Dataset
from pacbound.errors import BadInput, unknown_name
from pacbound.files import file_digest
from pacbound.networks.digests import tensors_digest
from pacbound.priors.split import Split, split_of
from pacbound.recipes import Settings
from pacbound.recipes.choices import declared_trials, prior_choices
from pacbound.recipes.commands import train_command
from pacbound.seeds import derive
from pacbound.training.checkpoints import Checkpoint, ensure_sizes, restore_posterior
from pacbound.training.learned_prior import learn_prior, prior_settings
from pacbound.training.log import TrainingLog, log_path
from pacbound.training.networks import network_inputs
from pacbound.training.problem import Problem, build

__all__ = ["PREDICTORS", "Request", "certify", "posterior_of", "replay_prior"]

DERIVATION = "sha256 of the purpose, the checkpoint's digest and the data's digest; then of chunks"
PREDICTORS = {  # and the inequalities that hold for each, its default first
    "gibbs": ("mcallester", "maurer"),
    "draw": ("maurer",),
    "vote-gibbs": ("maurer", "mcallester"),
    "vote-tandem": ("maurer", "mcallester"),
}


@dataclass(frozen=True)
class Request:
    """What is asked of a certification, fixed before anything is sampled."""

    delta: Decimal
    predictor: str = "gibbs"
    inequality: str = ""  # "": the predictor's default
    tail: str = "gaussian"  # of a sampled KL
    limit: str = "betting"  # of a risk from sampled weights
    draws: int = 5_000_000  # at least so many of single examples, in whole passes over the data
    weights: int = 10_000  # draws of whole weights, where examples must share them
    samples: int = 10_000  # of the KL, where it is not exact
    trials: int | None = None  # declared by the user; the recipe's own at the least
    allow_other_data: bool = False
    replay_prior: bool = False  # train a learned prior again, and compare
    device: str = "cpu"  # where the risk is sampled; the KL is computed on the CPU, in float64
    command: str = ""

    def __post_init__(self) -> None:
        for kind, name, valid in (
            ("predictor", self.predictor, PREDICTORS),
            ("inequality", self.inequality or "maurer", INEQUALITIES),
            ("tail", self.tail, TAILS),
            ("limit", self.limit, LIMITS),
        ):
            if name not in valid:
                raise unknown_name(kind, name, valid)
        if self.inequality and self.inequality not in PREDICTORS[self.predictor]:
            raise BadInput(
                f"inequality {self.inequality} speaks of the Gibbs predictor; for one drawn "
                "network use maurer"
            )


@dataclass(frozen=True)
class _Evidence:
    """What a bound is concluded from, in the form of a certificate's parts."""

    shares: Shares
    variances: tuple[Variance, ...]
    kl: ExactKL | MonteCarloKL | DrawnRatio
    risk: PerExampleRisk | PerWeightsRisk | WholeSetRisk
    held_out: HeldOut | None
    seeds: Seeds


def certify(
    path: Path,
    data: Dataset,
    request: Request,
    sampler: Sampler = ALONE,
    module: nn.Module | None = None,
) -> Certificate:
    """Issue the certificate of a checkpoint on its training data.

    Nothing is trusted but the posterior's parameters: the prior is made again from its seed, its
    variance put on the grid, m counted, the data hashed, and KL computed in float64. A learned
    prior is taken from the checkpoint, unless it is to be replayed.

    Arguments:
        sampler: Where Monte Carlo work is done, which the certificate does not depend on.
        module: The user's own network, where the checkpoint is of one.
    """
    start = time.monotonic()
    checkpoint, digest = _read(path)
    settings = checkpoint.settings
    split = split_of(settings, data)
    counted = split.counted_data(data)
    if counted.m < SMALLEST_M:
        raise BadInput(f"{counted.m} examples are counted; the bound needs {SMALLEST_M} or more")
    if settings.posterior == "point":
        raise BadInput("a point has no noise: its KL to any prior is infinite, so is its bound")
    if settings.batch_norm:
        raise BadInput("batch normalisation learns statistics of the data outside the posterior")
    if checkpoint.learned_prior is not None and checkpoint.data["sha256"] != data.sha256:
        raise BadInput(
            f"the checkpoint's prior learned from a part of other data than this {data.name}; "
            "nothing says that the examples here are not among those"
        )
    problem = posterior_of(checkpoint, data, request.allow_other_data, module)
    if request.replay_prior:
        replay_prior(checkpoint, data, sampler.report, module)
    training = train_command(settings, path)  # refused now, if at all, and not after sampling
    evidence = _of_one_draw if request.predictor == "draw" else _of_gibbs
    found = evidence(problem, settings, data, counted, request, digest, sampler)
    prior = Prior(
        center=_center(checkpoint, split, data, problem),
        variances=found.variances,
        choices=tuple(Choice(**entry) for entry in prior_choices(settings)),
        trials=declared_trials(settings, request.trials),
    )
    kl, risk, shares = found.kl, found.risk, found.shares
    paid = counted.m, prior, kl.upper, risk.upper, shares.pac_bayes
    predictor = request.predictor
    inequality = request.inequality or PREDICTORS[predictor][0]
    if predictor == "gibbs":
        value, also = bound(*paid, inequality, found.held_out)
        claim = value.value
    elif predictor == "draw":
        value, also = drawn_bound(*paid, found.held_out)
        claim = value.value
    else:
        value, also = vote_bound(*paid, inequality, predictor)
        claim = claimed(predictor, value.value)
    certificate = Certificate(
        claim=Claim(claim, float(request.delta), predictor=predictor),
        budget=Budget(float(shares.pac_bayes), float(shares.risk), float(shares.kl)),
        data=Data(data.name, counted.m, data.classes, data.sha256),
        model=Model(settings.recipe, settings.posterior, problem.network.parameter_count(), digest),
        prior=prior,
        kl=kl,
        risk=risk,
        bound=value,
        also=also,
        seeds=found.seeds,
        made=_made(checkpoint, path, training, request.command, time.monotonic() - start),
    ).in_words()
    verdict = checker.check(certificate.to_json())
    if not verdict.accepted:
        raise RuntimeError(f"the issuer and the checker disagree: {verdict.reason}")
    return certificate


def _read(path: Path) -> tuple[Checkpoint, str]:
    """A checkpoint, and the digest of the very bytes that it was read from."""
    digest = file_digest(path) if path.is_file() else ""
    checkpoint = Checkpoint.load(path)  # which says what is wrong with it
    if file_digest(path) != digest:
        raise BadInput(f"{path} changed while it was read: certify it when its training has ended")
    return checkpoint, digest


def _of_one_draw(
    problem: Problem,
    settings: Settings,
    data: Dataset,
    counted: Dataset,
    request: Request,
    digest: str,
    sampler: Sampler,
) -> _Evidence:
    """The log-density ratio at one draw, and its errors on every example: nothing is sampled."""
    seed = draw_seed(digest, data.sha256)
    drawn = draw_network(problem.network, problem.center, settings.variance_groups, seed)
    problem.plain.load_state_dict(drawn.weights)
    train, test = _examples(settings, counted)
    variances, ratio = drawn_ratio(drawn.groups, problem.variances)
    sampler.report("counting errors", 0, 1)
    errors = errors_of(problem.plain, train)
    risk = whole_set_risk(errors, counted.m, tensors_digest(drawn.weights))
    held_out = None
    if test is not None:
        held_out = held_out_limit(errors_of(problem.plain, test), len(test[1]), request.delta)
    sampler.report("counting errors", 1, 1)
    seeds = Seeds(DERIVATION, seed)
    return _Evidence(undivided(request.delta), variances, ratio, risk, held_out, seeds)


def _of_gibbs(
    problem: Problem,
    settings: Settings,
    data: Dataset,
    counted: Dataset,
    request: Request,
    digest: str,
    sampler: Sampler,
) -> _Evidence:
    """The KL and the risk of the randomised predictor, where needed with their shares of δ."""
    seeds = {
        purpose: derive(purpose, digest, data.sha256) for purpose in ("kl", "risk", "held out")
    }
    sampled = not all(q.is_gaussian for _, q, _ in problem.network.posteriors(problem.center))
    shares = split(request.delta, exact_kl=not sampled)
    variances, kl = _divergence(problem, settings, shares, request, sampled, seeds["kl"], sampler)
    risk, held_out = _risk(problem, settings, counted, shares, request, seeds, sampler)
    published = Seeds(DERIVATION, seeds["risk"], seeds["kl"] if sampled else None)
    return _Evidence(shares, variances, kl, risk, held_out, published)


def _examples(settings: Settings, data: Dataset) -> tuple[Examples, Examples | None]:
    """The training and the test examples as the network sees them."""
    train = network_inputs(settings, data.train_inputs), torch.from_numpy(data.train_labels)
    if data.test_inputs is None or data.test_labels is None:
        return train, None
    return train, (network_inputs(settings, data.test_inputs), torch.from_numpy(data.test_labels))


def _divergence(
    problem: Problem,
    settings: Settings,
    shares: Shares,
    request: Request,
    sampled: bool,
    seed: str,
    sampler: Sampler,
) -> tuple[tuple[Variance, ...], ExactKL | MonteCarloKL]:
    network, center, grouping = problem.network, problem.center, settings.variance_groups
    if not sampled:
        return exact_kl(exact_primitives(network, center, grouping), problem.variances)
    groups = sampled_primitives(network, center, grouping, request.samples, seed, sampler)
    return sampled_kl(groups, request.samples, shares.kl, request.tail, problem.variances)


def _risk(
    problem: Problem,
    settings: Settings,
    data: Dataset,
    shares: Shares,
    request: Request,
    seeds: Mapping[str, str],
    sampler: Sampler,
) -> tuple[PerExampleRisk | PerWeightsRisk, HeldOut | None]:
    """The risk on the training examples, and the binomial bound from the test examples.

    Every test example is judged once, by weights of its own.
    """
    network = problem.network
    at_once = checker.FACTORS[request.predictor][1]
    train, test = _examples(settings, data)
    if request.predictor != "gibbs":
        test = None  # the errors of one network at a time are not those of their vote
    # A certificate does not show how a module of one's own uses its weights, so that a checker
    # could not tell whether examples have their own: its risk is sampled in the way of all.
    if network.draws_per_example() and settings.network != "module":
        passes = math.ceil(request.draws / data.m)
        errors = errors_per_example(
            network, train, passes, seeds["risk"], sampler, at_once, request.device
        )
        risk: PerExampleRisk | PerWeightsRisk
        risk = per_example_risk(errors, passes * data.m, shares.risk)
        if test is None:
            return risk, None
        wrong = errors_per_example(
            network, test, 1, seeds["held out"], sampler, device=request.device
        )
        return risk, held_out_limit(wrong, len(test[1]), request.delta)
    batch = min(BATCH, data.m)
    counts, (wrong, tested) = errors_per_weights(
        network,
        train,
        test,
        request.weights,
        batch,
        seeds["risk"],
        sampler,
        at_once,
        request.device,
    )
    risk = per_weights_risk(counts, batch, shares.risk, request.limit)
    return risk, held_out_limit(wrong, tested, request.delta) if tested else None


def posterior_of(
    checkpoint: Checkpoint,
    data: Dataset,
    allow_other_data: bool = False,
    module: nn.Module | None = None,
) -> Problem:
    """The checkpoint's network and the prior's centre, made anew and compared with its digest."""
    learned = checkpoint.learned_prior
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
    settings = checkpoint.settings
    if (settings.prior_fraction > 0) != (learned is not None):
        raise BadInput("the checkpoint's settings and its prior differ on whether it was learned")
    ensure_sizes(checkpoint, module)
    problem = build(settings, data, module, learned)
    if problem.prior_sha256 != checkpoint.prior_sha256:
        made = f"prior's seed {settings.prior_seed} does" if learned is None else "weights do"
        raise BadInput(
            f"the {made} not give the prior that the checkpoint records: its digest differs"
        )
    restore_posterior(problem.network, checkpoint.posterior)
    return problem


def replay_prior(
    checkpoint: Checkpoint,
    data: Dataset,
    report: Report = silent,
    module: nn.Module | None = None,
) -> None:
    """Train a learned prior again, on its part of the examples alone; refuse any other."""
    recorded = checkpoint.learned_prior
    if recorded is None:
        raise BadInput("there is no prior to train again: the checkpoint's did not learn from data")
    again = learn_prior(
        checkpoint.settings,
        split_of(checkpoint.settings, data).learned_data(data),
        on_step=lambda at: report(
            "training the prior again",
            (at.epoch - 1) * at.steps + at.step,
            at.epochs * at.steps,
        ),
        module=module,
        threads=recorded.threads,
    )
    if again.sha256 != recorded.sha256:
        raise BadInput(
            "the prior, trained again from its seed on its part of the examples, is another: "
            f"its sha256 begins {again.sha256[:12]}, not {recorded.sha256[:12]}"
        )


def _center(
    checkpoint: Checkpoint, split: Split, data: Dataset, problem: Problem
) -> Center | LearnedCenter:
    settings, learned = checkpoint.settings, checkpoint.learned_prior
    if learned is None:
        digest = checkpoint.prior_sha256
        return Center("initialization", settings.initializer, settings.prior_seed, digest)
    problem.plain.load_state_dict(learned.center)
    counted, _ = _examples(settings, split.counted_data(data))
    return LearnedCenter(
        kind="learned",
        examples=split.examples,
        learned_from=len(split.learned),
        split_seed=settings.split_seed,
        # Format 1 has the digest of a split by places. This one is by content: format 2 has that.
        split_sha256=checker.prior_part(split.examples, len(split.learned), settings.split_seed)[1],
        examples_sha256=split.learned_data(data).sha256,
        errors=errors_of(problem.plain, counted),
        training={**prior_settings(settings), "threads": learned.threads},
        sha256=learned.sha256,
    )


def _made(checkpoint: Checkpoint, path: Path, training: str, command: str, seconds: float) -> Made:
    epochs = TrainingLog(log_path(path)).records()
    learned = checkpoint.learned_prior
    before = learned.seconds if learned is not None else 0.0
    return Made(
        pacbound=__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        training_command=training,
        training_seconds=round(before + epochs[-1].seconds, 1) if epochs else None,
        command=command,
        seconds=round(seconds, 1),
        settings=checkpoint.settings.to_mapping(),
    )
