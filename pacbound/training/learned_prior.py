"""The training of a learned prior (`priors/learned.py`): first its centre, then its variances."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _NormBase

from pacbound.data import Dataset
from pacbound.errors import CheckpointError, ModuleError, SettingError
from pacbound.files import write_whole
from pacbound.networks.digests import tensors_digest
from pacbound.networks.started import Started
from pacbound.networks.values import buffers_of, matching, take_values, values_of
from pacbound.priors.initialised import initialised_center
from pacbound.priors.learned import LearnedPrior, prior_settings
from pacbound.products import products_in
from pacbound.recipes import Settings
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.augmentation import augmented
from pacbound.training.averaging import PolyakAverage
from pacbound.training.descent import Descent, Evaluated, Step, Totals
from pacbound.training.machine import LONGEST_RECORD, is_machine_record, machine_record
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.optimizers import PRIOR_OPTIMIZERS
from pacbound.training.saved_state import restore_module
from pacbound.training.schedules import SCHEDULES
from pacbound.training.spread import errors_of, fitted_variances
from pacbound.training.tensor_file import read_tensors

__all__ = ["MOST_THREADS", "learn_prior", "prior_path"]

FORMAT = "pacbound-prior/2"
MOST_THREADS = 1024  # the limit for a value read from a file
FIELDS = {"format", "identity", "epoch", "machine", "threads", "seconds"}
FIELDS |= {"network", "optimizer", "average"}


def prior_path(
    checkpoint: Path, settings: Settings, part: Dataset, module: nn.Module | None = None
) -> Path:
    """The file of the prior for these settings and examples, shared by all posteriors."""
    plain = plain_network(settings, part.input_shape, part.classes, module)
    name = derive("prior file", *_identity(settings, part, plain))[:12]
    return checkpoint.with_name(f"prior-{name}.pt")


def _identity(settings: Settings, part: Dataset, plain: nn.Module) -> list[object]:
    """What determines a trained centre: settings, examples, and constants that are declared.

    The variances are fitted afterwards, so their limits have no part in it.
    """
    fitting = ("prior_tolerance", "prior_spread")
    trained = {k: v for k, v in prior_settings(settings).items() if k not in fitting}
    identity: list[object] = [trained, part.sha256]
    if settings.constants:
        buffers = buffers_of(plain)
        declared = matching(list(buffers), settings.constants, "constants")
        identity.append(tensors_digest({name: buffers[name] for name in declared}))
    return identity


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
        # The posterior's network has constants, which are trained here; so there are two.
        self.plain = plain_network(settings, part.input_shape, part.classes, module)
        self.network = copy.deepcopy(self.plain).requires_grad_(True)
        take_values(self.network, initialised_center(self.network, settings))
        self.norms = [layer for layer in self.network.modules() if isinstance(layer, _NormBase)]
        for layer in self.norms:
            layer.reset_running_stats()
        if self.norms and 1 in (settings.prior_batch, self.m % settings.prior_batch):
            raise SettingError(
                f"a batch of the {self.m} examples would have one example, which batch "
                f"normalisation cannot use: give another prior_batch than {settings.prior_batch}"
            )
        optimizer = PRIOR_OPTIMIZERS[settings.prior_optimizer](
            self.network, settings.prior_weight_decay
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
        self.fitting = self.inputs[: self.m], self.labels[: self.m]
        for module_ in self.network.modules():
            if isinstance(module_, Started):
                module_.start(self.fitting[0])
        self.aside = self.inputs[self.m :], self.labels[self.m :]
        self.seconds = 0.0  # the time of the epochs so far
        self.identity = derive("prior", *_identity(settings, part, self.plain))

    def epoch(self, epoch: int, on_step: Callable[[Step], None]) -> None:
        settings, clock = self.settings, time.monotonic()
        source = TrainingNoise(derive("prior training", settings.prior_seed, epoch))

        def rates(done: float) -> list[float]:
            share = (epoch - 1 + done) / settings.prior_epochs
            rate = settings.prior_learning_rate * SCHEDULES[settings.prior_schedule](share)
            return [rate] * len(self.descent.optimizer.param_groups)

        def evaluate(chosen: Tensor) -> Evaluated:
            inputs = augmented(settings.prior_augmentation, self.inputs[chosen], source)
            labels = self.labels[chosen]
            with products_in(settings.prior_products, inputs.device):
                logits = self.network(inputs)
            if not isinstance(logits, Tensor):
                raise ModuleError(
                    f"the module gives a {type(logits).__name__} in training mode; forward must "
                    "return one tensor of logits in both modes"
                )
            smoothing = settings.prior_smoothing
            loss = functional.cross_entropy(logits.float(), labels, label_smoothing=smoothing)
            errors = int((logits.detach().argmax(1) != labels).sum())
            return Evaluated(loss, loss.item(), errors)

        def shown(step: int, objective: float, totals: Totals) -> None:
            at = "prior", epoch, settings.prior_epochs, step, self.descent.steps
            on_step(Step(*at, totals.risk, 0.0, objective, None))

        order = source.permutation(self.m)
        with (
            _training(self.network, source),
            _dropout(self.network, settings.prior_dropout, source),
        ):
            self.descent.epoch(epoch, order, rates, evaluate, shown)
        self.seconds += time.monotonic() - clock

    def prior(self) -> LearnedPrior:
        """The centre, averaged if the settings say so, and its variances."""
        network = self.network
        if self.average is not None:
            self.average.swap()
            network = copy.deepcopy(self.network)
            self.average.swap()
            self._settle(network)
        center = {name: value.detach().clone() for name, value in values_of(network).items()}
        return LearnedPrior(
            center=center,
            variances=fitted_variances(self.settings, self.plain, center, self.fitting),
            threads=self.threads,
            seconds=round(self.seconds, 1),
            machine=self.machine,
            validation=(len(self.labels) - self.m, errors_of(self.plain, center, self.aside)),
        )

    @torch.no_grad()
    def _settle(self, network: nn.Module) -> None:
        """Compute the statistics of normalisation anew: those in training are of other weights."""
        norms = [layer for layer in network.modules() if isinstance(layer, _NormBase)]
        for layer in norms:
            layer.reset_running_stats()
            layer.momentum = None  # the mean over all batches
            layer.train()
        source = TrainingNoise(derive("prior statistics", self.settings.prior_seed))
        order, batch = source.permutation(self.m), self.settings.prior_batch
        for first in range(0, self.m, batch) if norms else ():
            rows = order[first : first + batch]
            images = augmented(self.settings.prior_augmentation, self.inputs[rows], source)
            with products_in(self.settings.prior_products, images.device):
                network(images)
        network.eval()

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


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _training(network: nn.Module, source: TrainingNoise) -> Iterator[None]:
    """The network in training mode, with its own dropout, if any, from the source's seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(source.fast.initial_seed())
        network.train()
        try:
            yield
        finally:
            network.eval()


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
