"""From a checkpoint to a certificate."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from pacbound.bounds.codes import RECIPES
from pacbound.bounds.limits import LIMITS
from pacbound.bounds.rounding import precise
from pacbound.bounds.tails import TAILS
from pacbound.certificate.class_names import recorded_names
from pacbound.certificate.format import (
    Block,
    Certificate,
    Choices,
    Data,
    Extractor,
    Ledger,
    Made,
    Model,
    Part,
    Prior,
    Validation,
)
from pacbound.data import Dataset
from pacbound.data.copies import refuse_copies
from pacbound.data.digests import groups_digest
from pacbound.errors import CheckpointError, SettingError, by_caller, unknown_name
from pacbound.networks.digests import tensors_digest
from pacbound.networks.registry import network_named
from pacbound.networks.values import buffers_of, matching, values_of
from pacbound.posteriors import posterior_kind
from pacbound.predictors import PREDICTORS
from pacbound.predictors.base import Predictor, Situation, factor_of
from pacbound.predictors.budget import divide
from pacbound.predictors.chunks import ALONE, Report, Sampler, silent
from pacbound.predictors.claims import Wanted, asked, claims_named
from pacbound.predictors.concluding import (
    conclude,
    ensure_claimable,
    ensure_inequality,
    ensure_seen_is_paid,
    ensure_validated,
    new_ledger,
    new_made,
)
from pacbound.predictors.ledger import recipe_ledger
from pacbound.predictors.risk import Examples
from pacbound.predictors.threshold import parse_threshold, prior_threshold
from pacbound.printable import recordable
from pacbound.priors import kind_of
from pacbound.priors.choices import prior_choices
from pacbound.priors.learned import prior_settings
from pacbound.priors.split import Split, split_of
from pacbound.recipes import Settings
from pacbound.recipes.commands import as_texts, setting_texts, train_command
from pacbound.seeds import certificate_seed
from pacbound.training.checkpoints import Checkpoint, restored
from pacbound.training.given_prior import ensure_unseen
from pacbound.training.learned_prior import learn_prior
from pacbound.training.log import TrainingLog, log_path
from pacbound.training.networks import network_inputs
from pacbound.training.problem import Problem, observe
from pacbound.training.replay import PriorDiffers, Replay, compare_priors

__all__ = ["Request", "certify", "issue", "posterior_of", "replay_prior", "seed_of"]

COPIES = ("counted", "independent")


@dataclass(frozen=True)
class Request:
    """The request of a certificate, fixed before anything is sampled.

    Arguments:
        predictor: gibbs, draw, vote-gibbs, vote-tandem or fixed.
        wanted: The claims; the overall error by default.
        inequality: An inequality other than the default for the predictor and the prior.
        inequality_seen: It was chosen after both bounds were seen; declare the candidates.
        candidates: Your own priors or networks that were listed before the first look at a
            result on these examples, this one included.
        looks: Adaptive looks: results on these examples that led to a change of the prior.
        certificates: Certificates to choose from, this one included, declared before the first.
        place: The position of this certificate in order of making, if none was declared.
        copies: `independent` declares that equal examples are independent draws.
        tail: The tail bound of a sampled KL: gaussian or theorem3.
        limit: The limit of a risk from sampled weights: betting or chernoff.
        draws: The least number of draws of single examples, in whole passes over the data.
        weights: Draws of whole weights, when examples must share weights.
        samples: Samples of the KL, when it is not exact.
        allow_other_data: Certify on data that the posterior was not trained on.
        replay_prior: Train a learned prior again and compare; `made.prior` records the result.
        device: The device on which the risk is sampled. The KL is computed on the CPU, in float64.
        command: The command to record.
        answer_above: The threshold of a predictor that abstains, or `auto:ERROR` to choose it on
            the prior's part.
    """

    delta: Decimal
    predictor: str = "gibbs"
    wanted: Wanted = field(default_factory=Wanted)
    inequality: str = ""
    inequality_seen: bool = False
    candidates: int = 1
    looks: int = 0
    certificates: int = 1
    place: int | None = None
    copies: str = "counted"
    tail: str = "gaussian"
    limit: str = "betting"
    draws: int = 5_000_000
    weights: int = 10_000
    samples: int = 10_000
    allow_other_data: bool = False
    replay_prior: bool = False
    device: str = "cpu"
    command: str = ""
    answer_above: str = ""

    def __post_init__(self) -> None:
        for kind, name, valid in (
            ("predictor", self.predictor, PREDICTORS),
            ("tail", self.tail, TAILS),
            ("limit", self.limit, LIMITS),
            ("declaration of copies", self.copies, COPIES),
        ):
            if name not in valid:
                raise unknown_name(kind, name, valid)
        for name in ("draws", "weights", "samples"):
            number = getattr(self, name)
            if not isinstance(number, Integral) or number < 1:
                raise SettingError(f"{name} must be a whole number of 1 or more, not {number}")
        ensure_inequality(PREDICTORS[self.predictor], self.inequality)
        ensure_seen_is_paid(self.inequality_seen, self.ledger((1, 0)))
        claims_named(self.wanted.claims, bool(parse_threshold(self.answer_above)))

    def ledger(self, recipe: tuple[int, int]) -> Ledger:
        """The declared trials, including the recipe's own candidates and looks."""
        return new_ledger(recipe, self.candidates, self.looks, self.certificates, self.place)


def certify(
    path: Path,
    data: Dataset,
    request: Request,
    sampler: Sampler = ALONE,
    module: nn.Module | None = None,
) -> Certificate:
    """Issue the certificate of a checkpoint file; see `issue`."""
    epochs = TrainingLog(log_path(path)).records()
    seconds = epochs[-1].seconds if epochs else None
    return issue(Checkpoint.load(path), data, request, sampler, module, path, seconds)


def issue(
    checkpoint: Checkpoint,
    data: Dataset,
    request: Request,
    sampler: Sampler = ALONE,
    module: nn.Module | None = None,
    path: Path | str = "network.pt",
    training_seconds: float | None = None,
) -> Certificate:
    """Issue the certificate of a posterior on the data that it was trained on.

    Only the posterior's parameters are trusted. The prior is made again from its seed, its variance
    is placed on the grid, m is counted, the data are hashed, and the KL is computed in float64. A
    learned prior is taken from the checkpoint, unless a replay is requested.

    Arguments:
        sampler: How Monte Carlo work is run. The certificate does not depend on it.
        module: The user's own network, if the checkpoint is of one.
        path: The checkpoint's file, as named in the training command.
        training_seconds: The training time, if known.
    """
    start = time.monotonic()
    settings = checkpoint.settings
    predictor = PREDICTORS[request.predictor]
    _refuse(checkpoint, data, request)
    split = split_of(settings, data)
    counted = split.counted_data(data)
    refuse_copies(data, request.copies == "independent")
    groups = _counted_groups(request.wanted, data, split)
    claims = asked(request.wanted, counted.train_labels, data.classes, groups)
    ensure_claimable(predictor, claims)
    problem = posterior_of(checkpoint, data, request.allow_other_data, module)
    replay = None
    if request.replay_prior:
        replay = replay_prior(checkpoint, data, sampler.report, module)
        if not replay.identical:
            warnings.warn(replay.words(), PriorDiffers, stacklevel=2)
    training = train_command(settings, path)  # fails now, if at all, and not after sampling
    tried = recipe_ledger(settings, data.sha256)
    ledger = request.ledger((tried.candidates, tried.looks))
    wished = parse_threshold(request.answer_above)
    threshold = prior_threshold(wished, checkpoint, problem, split, data)
    model = replace(_model(predictor, checkpoint, problem, data), answer_above=threshold)
    train, test = _examples(settings, counted)
    gaussian = all(q.is_gaussian for _, q, _ in problem.network.posteriors(problem.center))
    with precise():
        factor = factor_of(ledger)
    situation = Situation(
        problem=problem,
        grouping=settings.variance_groups,
        train=train,
        test=test if predictor.held_out else None,
        claims=tuple(claims),
        shares=divide(
            request.delta,
            [each.subject for each in claims],
            data.classes,
            predictor.sampled,
            predictor.sampled and not gaussian,
        ),
        certificates=factor,
        seed=seed_of(checkpoint, problem, data),
        draws=request.draws,
        weights=request.weights,
        samples=request.samples,
        tail=request.tail,
        limit=request.limit,
        device=request.device,
        sampler=sampler,
        answer_above=threshold,
    )
    observed = predictor.observe(situation)
    return conclude(
        predictor,
        request.delta,
        observed,
        Data(
            name=data.name[:200],
            examples=data.m,
            m=counted.m,
            classes=data.classes,
            sha256=data.sha256,
            duplicates=data.duplicates,
            copies=request.copies,
            groups_sha256=groups_digest(counted.digests, groups) if groups else "",
        ),
        model,
        _prior(predictor, checkpoint, split, data, problem, observed.variances),
        ledger,
        request.inequality,
        request.inequality_seen,
        _made(
            checkpoint,
            training,
            request.command,
            training_seconds,
            time.monotonic() - start,
            replay,
            {
                **({"answer_above": request.answer_above} if wished.error is not None else {}),
                **recorded_names(data.class_names),
            },
        ),
    )


def seed_of(checkpoint: Checkpoint, problem: Problem, data: Dataset) -> Callable[[str], str]:
    """The seed for each purpose, determined by the posterior, the prior and the data."""
    posterior = tensors_digest(checkpoint.posterior)
    return lambda purpose: certificate_seed(purpose, posterior, problem.prior_sha256, data.sha256)


def _refuse(checkpoint: Checkpoint, data: Dataset, request: Request) -> None:
    """Refuse what cannot be certified, before any work."""
    settings, learned = checkpoint.settings, checkpoint.learned_prior
    predictor, posterior = PREDICTORS[request.predictor], posterior_kind(settings.posterior)
    if predictor.needs_learned_prior and learned is None:
        option = by_caller(predictor.options, f'predictor="{predictor.name}"')
        raise SettingError(
            f"{option} certifies the centre of a learned prior: this prior did not learn"
        )
    if predictor.has_posterior and not posterior.has_noise:
        raise SettingError(
            f"a {posterior.name} has no noise: its KL to any prior and so its bound are infinite"
        )
    if settings.batch_norm and checkpoint.stored_prior is None:
        raise SettingError(
            "batch normalisation learns statistics of the data outside the posterior, unless they "
            f"are fixed by a learned prior ({by_caller('--prior learned', 'priors.Learned')})"
        )
    if settings.input_shift:
        raise SettingError(
            f"the network was trained on inputs minus {settings.input_shift:g}, which certificates "
            "cannot say: train it with input_shift=0"
        )
    if settings.recipe not in RECIPES:
        raise SettingError(
            f"recipe '{settings.recipe}' is not on the certificates' list of recipes; train with "
            "one that is, such as table or module"
        )
    if request.inequality:
        kept = checkpoint.stored_prior
        ensure_validated(predictor, request.inequality, kept is not None and kept.validation[0] > 0)
    ensure_unseen(checkpoint.stored_prior, data)
    if learned is not None and checkpoint.data["sha256"] != data.sha256:
        raise CheckpointError(
            f"the checkpoint's prior learned from a part of other data than {data.name}; "
            "nothing says that the examples here are not among those"
        )


def _counted_groups(wanted: Wanted, data: Dataset, split: Split) -> list[str]:
    if not wanted.groups:
        return []
    if len(wanted.groups) != data.m:
        raise SettingError(f"{len(wanted.groups)} groups are given for {data.m} examples")
    return [wanted.groups[place] for place in split.counted.tolist()]


def _examples(settings: Settings, data: Dataset) -> tuple[Examples, Examples | None]:
    """The training and the test examples as the network sees them."""
    labels = torch.from_numpy(np.ascontiguousarray(data.train_labels))
    train = network_inputs(settings, data.train_inputs), labels
    if data.test_inputs is None or data.test_labels is None:
        return train, None
    return train, (network_inputs(settings, data.test_inputs), torch.from_numpy(data.test_labels))


def _model(predictor: Predictor, checkpoint: Checkpoint, problem: Problem, data: Dataset) -> Model:
    settings = checkpoint.settings
    extractors = _extractors(settings, problem, data)
    if not predictor.has_posterior:
        return Model(
            source="centre",
            recipe=settings.recipe,
            sha256=problem.prior_sha256,
            extractors=extractors,
        )
    drawn = problem.network.parameter_count()
    values = values_of(problem.plain).values()
    return Model(
        recipe=settings.recipe,
        network=settings.network,
        structure_sha256=settings.structure,
        posterior=settings.posterior,
        parameters=drawn,
        frozen=sum(value.numel() for value in values) - drawn,
        sha256=tensors_digest(checkpoint.posterior),
        extractors=extractors,
    )


def _extractors(settings: Settings, problem: Problem, data: Dataset) -> tuple[Extractor, ...]:
    """What is declared to be free of the counted examples besides a prior from elsewhere.

    It is the extractor that computed the inputs, and buffers that are declared as constants.
    """
    found = []
    if data.extractor_sha256:
        found.append(Extractor(sha256=data.extractor_sha256, origin=data.extractor_origin))
    if settings.constants:
        buffers = buffers_of(problem.plain)
        names = sorted(matching(list(buffers), settings.constants, "constants"))
        digest = tensors_digest({name: buffers[name] for name in names})
        origin = f"constants of the module: {', '.join(names)}"
        found.append(Extractor(sha256=digest, origin=recordable(origin, 150)))
    return tuple(found)


def _prior(
    predictor: Predictor,
    checkpoint: Checkpoint,
    split: Split,
    data: Dataset,
    problem: Problem,
    variances: Any,
) -> Prior:
    settings = checkpoint.settings
    alone = not predictor.has_posterior
    choices = {k: v for k, v in prior_choices(settings).items() if k != "network"}
    choices["blocks"] = tuple(Block(layer=layer, sizes=sizes) for layer, sizes in choices["blocks"])
    part = validation = None
    if checkpoint.learned_prior is not None:
        part = Part(examples=len(split.learned), sha256=split.learned_data(data).sha256)
    if checkpoint.stored_prior is not None:
        examples, errors = checkpoint.stored_prior.validation
        validation = Validation(examples=examples, errors=errors)
    return Prior(
        kind=kind_of(settings).name,
        sha256=None if alone else problem.prior_sha256,
        origin=settings.origin or None,
        part=part,
        validation=None if alone else validation,
        choices=Choices(**choices),
        variances=None if alone else variances,
    )


def posterior_of(
    checkpoint: Checkpoint,
    data: Dataset,
    allow_other_data: bool = False,
    module: nn.Module | None = None,
) -> Problem:
    """The checkpoint's network and the prior's centre, rebuilt and compared with its digest."""
    if checkpoint.data["sha256"] != data.sha256 and not allow_other_data:
        raise CheckpointError(
            f"the checkpoint was trained on other data than {data.name} (its sha256 begins "
            f"{data.sha256[:12]}, not {checkpoint.data['sha256'][:12]}); "
            f"{by_caller('--allow-other-data', 'allow_other_data=True')} certifies on it all the "
            "same"
        )
    described = (checkpoint.data["classes"], tuple(checkpoint.data["input_shape"]))
    if described != (data.classes, data.input_shape):
        raise CheckpointError(
            f"the checkpoint is for {described[0]} classes and inputs of shape {described[1]}; "
            f"{data.name} has {data.classes} and {data.input_shape}"
        )
    problem = restored(checkpoint, module)
    if network_named(checkpoint.settings.network).is_observed:
        observe(problem, checkpoint.settings, data)
    return problem


def replay_prior(
    checkpoint: Checkpoint,
    data: Dataset,
    report: Report = silent,
    module: nn.Module | None = None,
) -> Replay:
    """Train a learned prior again on its part of the examples, and compare the two.

    On the same kind of machine, any difference is refused. Elsewhere, the distance is reported.
    """
    recorded = checkpoint.learned_prior
    if recorded is None:
        raise SettingError(
            "there is no prior to train again: the checkpoint's prior did not learn from data"
        )
    part = split_of(checkpoint.settings, data).learned_data(data)
    again = learn_prior(
        checkpoint.settings,
        part,
        on_step=lambda at: report(
            "training the prior again",
            (at.epoch - 1) * at.steps + at.step,
            at.epochs * at.steps,
        ),
        module=module,
        threads=recorded.threads,
    )
    return compare_priors(recorded, again, checkpoint.settings, part, module)


def _made(
    checkpoint: Checkpoint,
    training: str,
    command: str,
    training_seconds: float | None,
    seconds: float,
    replay: Replay | None,
    further: dict[str, str],
) -> Made:
    learned, settings = checkpoint.learned_prior, checkpoint.settings
    times = {"certify": f"{seconds:.1f}"}
    if training_seconds is not None:
        times["train"] = f"{training_seconds:.1f}"
    prior = {}
    if learned is not None:
        times["prior"] = f"{learned.seconds:.1f}"
        prior = {**as_texts(prior_settings(settings)), **learned.machine}
    if replay is not None:
        prior["replay"] = replay.words()
    made = new_made(command, training_command=training[:2000], times=times, prior=prior)
    software = {**made.software, "torch": str(torch.__version__), "numpy": np.__version__}
    return replace(made, software=software, settings={**setting_texts(settings), **further})
