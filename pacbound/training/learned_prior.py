"""The training of a learned prior (`priors/learned.py`): first its centre, then its variances."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pacbound.data import Dataset
from pacbound.errors import CheckpointError
from pacbound.files import write_whole
from pacbound.networks.initializers import prior_center
from pacbound.networks.near_ties import is_error
from pacbound.networks.probe import probe_places
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Diag, posterior_named
from pacbound.priors.learned import LearnedPrior, prior_settings
from pacbound.recipes import Settings
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.augmentation import augmented
from pacbound.training.averaging import PolyakAverage
from pacbound.training.descent import Descent, Evaluated, Step, Totals
from pacbound.training.machine import LONGEST_RECORD, is_machine_record, machine_record
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.saved_state import restore_module
from pacbound.training.schedules import SCHEDULES
from pacbound.training.tensor_file import read_tensors

__all__ = ["MOST_THREADS", "learn_prior", "prior_path"]

FORMAT = "pacbound-prior/2"
MOST_THREADS = 1024  # the limit for a value read from a file
SPREADS = [2.0 ** (-k / 2) for k in range(2, 40)]  # a weight's noise, relative to its layer
FITTING = 500  # examples at a time; they share a draw if weights must be drawn
DRAWS = 4  # weight draws for as many examples
FIELDS = {"format", "identity", "epoch", "machine", "threads", "seconds"}
FIELDS |= {"network", "optimizer", "average"}


def prior_path(checkpoint: Path, settings: Settings, part: Dataset) -> Path:
    """The file of the prior for these settings and examples, shared by all posteriors."""
    name = derive("prior file", prior_settings(settings), part.sha256)[:12]
    return checkpoint.with_name(f"prior-{name}.pt")


def learn_prior(
    settings: Settings,
    part: Dataset,
    path: Path | None = None,
    on_step: Callable[[Step], None] = lambda step: None,
    module: nn.Module | None = None,
    threads: int | None = None,
) -> LearnedPrior:
    """Train the centre on its part of the examples, then fit the variances on the same part.

    The share `prior_validation` of the part is held out from both: the last examples in the order
    of the split. The centre's errors on it are counted at the end.

    With a path, the state is saved there after every epoch. A stopped run then continues with its
    original number of threads and gives the same prior as an uninterrupted run.

    Arguments:
        part: The examples to train on, in the order of the split.
        module: The user's own network, if the settings are for one.
        threads: The number of threads; all by default.
    """
    run = _Run(settings, part, module, threads or torch.get_num_threads())
    first = run.restore(path) + 1 if path is not None and path.exists() else 1
    with _threads(run.threads):
        for epoch in range(first, settings.prior_epochs + 1):
            run.epoch(epoch, on_step)
            if path is not None:
                run.save(path, epoch)
        return run.prior()


class _Run:
    """The training of a centre, between epochs."""

    def __init__(
        self, settings: Settings, part: Dataset, module: nn.Module | None, threads: int
    ) -> None:
        aside = math.floor(Fraction(str(settings.prior_validation)) * part.m + Fraction(1, 2))
        if aside >= part.m:
            raise CheckpointError(
                f"prior_validation {settings.prior_validation} leaves no example of {part.m} to "
                "learn from"
            )
        self.settings, self.threads = settings, threads
        self.m = part.m - aside  # training examples; the others are for validation
        self.machine = machine_record(threads)
        self.own = module is not None
        self.network = plain_network(settings, part.input_shape, part.classes, module)
        start = prior_center(
            self.network, settings.initializer, settings.prior_seed, settings.hidden_bias
        )
        self.network.load_state_dict(start)
        optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=1.0,
            weight_decay=settings.prior_weight_decay,
            fused=True,
        )
        decay = settings.prior_averaging
        self.average = PolyakAverage(self.network, decay) if decay else None
        self.descent = Descent(
            optimizer,
            self.average,
            self.m,
            settings.prior_batch,
            "the prior's training",
            "prior_learning_rate",
        )
        self.inputs = network_inputs(settings, part.train_inputs)
        self.labels = torch.from_numpy(part.train_labels)
        self.seconds = 0.0  # the time of the epochs so far
        self.identity = derive("prior", prior_settings(settings), part.sha256)

    def epoch(self, epoch: int, on_step: Callable[[Step], None]) -> None:
        settings, clock = self.settings, time.monotonic()
        source = TrainingNoise(derive("prior training", settings.prior_seed, epoch))

        def rates(done: float) -> list[float]:
            share = (epoch - 1 + done) / settings.prior_epochs
            return [settings.prior_learning_rate * SCHEDULES["cosine"](share)]

        def evaluate(chosen: Tensor) -> Evaluated:
            inputs = augmented(settings.prior_augmentation, self.inputs[chosen], source)
            labels = self.labels[chosen]
            logits = self.network(inputs)
            loss = functional.cross_entropy(logits, labels)
            errors = int((logits.detach().argmax(1) != labels).sum())
            return Evaluated(loss, loss.item(), errors)

        def shown(step: int, objective: float, totals: Totals) -> None:
            at = "prior", epoch, settings.prior_epochs, step, self.descent.steps
            on_step(Step(*at, totals.risk, 0.0, objective, None))

        with _dropout(self.network, settings.prior_dropout, source):
            self.descent.epoch(epoch, source.permutation(self.m), rates, evaluate, shown)
        self.seconds += time.monotonic() - clock

    def prior(self) -> LearnedPrior:
        """The centre, averaged if the settings say so, and its variances."""
        if self.average is not None:
            self.average.swap()
        center = {name: value.detach().clone() for name, value in self.network.named_parameters()}
        if self.average is not None:
            self.average.swap()
        variances, seconds = self._fitted(center), round(self.seconds, 1)
        validation = len(self.labels) - self.m, self._validation_errors(center)
        return LearnedPrior(center, variances, self.threads, seconds, self.machine, validation)

    @torch.no_grad()
    def _validation_errors(self, center: dict[str, Tensor]) -> int:
        """The centre's errors on the validation examples; near ties count as errors."""
        errors = 0
        for first in range(self.m, len(self.labels), FITTING):
            rows = slice(first, first + FITTING)
            logits = functional_call(self.network, center, (self.inputs[rows],))
            errors += int(is_error(logits, self.labels[rows]).sum())
        return errors

    @torch.no_grad()
    def _fitted(self, center: dict[str, Tensor]) -> tuple[float, ...]:
        """The largest noise that hardly changes the risk on the prior's own examples.

        The standard deviation of every group is the same multiple of the root mean square of its
        weights. The multiple is the largest on a list at which the Gibbs risk is within the
        tolerance of the centre's risk.
        """
        probe = StochasticNetwork(self.network, center, posterior_named("diag"), (1.0,))
        groups = probe.variance_groups(self.settings.variance_groups)
        sizes = [_root_mean_square(center, layers) for layers in groups]
        if self.own:
            probe.observe(self.inputs[probe_places(self.m)])
        calm = self._risk(probe, None)
        for spread in SPREADS:
            for layers, size in zip(groups, sizes, strict=True):
                for name, q, _ in probe.posteriors(center):
                    if name in layers:
                        assert isinstance(q, Diag)
                        q.log_scale.fill_(math.log(spread * size))
            noise = TrainingNoise(derive("prior spread", self.settings.prior_seed))
            if self._risk(probe, noise) <= calm + self.settings.prior_tolerance:
                break
        return tuple((spread * size) ** 2 for size in sizes)

    def _risk(self, probe: StochasticNetwork, source: TrainingNoise | None) -> float:
        errors = 0
        for first in range(0, self.m, FITTING):
            rows = slice(first, min(first + FITTING, self.m))
            logits = probe(self.inputs[rows], source, DRAWS)
            errors += int((logits.argmax(1) != self.labels[rows]).sum())
        return errors / self.m

    def save(self, path: Path, epoch: int) -> None:
        content = {
            "format": FORMAT,
            "identity": self.identity,
            "epoch": epoch,
            "machine": self.machine,
            "threads": self.threads,
            "seconds": self.seconds,
            "network": self.network.state_dict(),
            **self.descent.state(),
        }
        write_whole(path, lambda stream: torch.save(content, stream))

    def restore(self, path: Path) -> int:
        """Continue from a file of the same settings and examples; return its epoch."""
        content = read_tensors(path, "prior (delete it and retrain)")
        if not isinstance(content, dict) or set(content) != FIELDS:
            raise CheckpointError(f"{path} is not a prior: delete it and retrain")
        if content["format"] != FORMAT or content["identity"] != self.identity:
            raise CheckpointError(f"{path} is not the prior of these settings and examples")
        epoch, threads, seconds = (content[name] for name in ("epoch", "threads", "seconds"))
        try:
            if type(epoch) is not int or not 1 <= epoch <= self.settings.prior_epochs:
                raise ValueError("there is no such epoch")
            if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
                raise ValueError("it was trained with an impossible number of threads")
            if type(seconds) is not float or not 0 <= seconds < math.inf:
                raise ValueError("its training time is not a number of seconds")
            if not is_machine_record(content["machine"]):
                raise ValueError("it does not say on which machine it was trained")
            restore_module(self.network, content["network"])
            self.descent.restore(content["optimizer"], content["average"])
        except ValueError as error:
            raise CheckpointError(f"{path} is damaged: {error}; delete it and retrain") from error
        self.threads, self.seconds = threads, seconds
        here, before = machine_record(threads), content["machine"]
        self.machine = before
        if here != before and epoch < self.settings.prior_epochs:
            # A replay cannot reproduce such a training; the record says so.
            self.machine = {**before, "continued on": f"{here}"[:LONGEST_RECORD]}
        return epoch


def _root_mean_square(center: dict[str, Tensor], layers: list[str]) -> float:
    parts = [v.double() for name, v in center.items() if name.rpartition(".")[0] in layers]
    total = sum(float(part.square().sum()) for part in parts)
    if not total > 0:
        raise CheckpointError(
            f"the prior's layer {layers[0]} learned nothing: try another initializer"
        )
    return math.sqrt(total / sum(part.numel() for part in parts))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _dropout(network: nn.Module, rate: float, source: TrainingNoise) -> Iterator[None]:
    """Dropout on the inputs of every dense layer except the network's first layer."""

    def drop(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        kept = torch.rand(inputs[0].shape, generator=source.fast) >= rate
        return (inputs[0] * kept / (1 - rate),)

    own = [layer for layer in network.modules() if list(layer.parameters(recurse=False))]
    dense = [layer for layer in own[1:] if isinstance(layer, nn.Linear)] if rate else []
    handles = [layer.register_forward_pre_hook(drop) for layer in dense]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
