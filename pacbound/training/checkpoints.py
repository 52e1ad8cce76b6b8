"""Checkpoints: the result of training, written atomically and read with suspicion."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.data.rows import Kind
from pacbound.errors import CheckpointError, PacboundError
from pacbound.files import write_whole
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import Diag, posterior_kind
from pacbound.printable import printable
from pacbound.priors import kind_of
from pacbound.priors.learned import LearnedPrior
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings
from pacbound.training.learned_prior import MOST_THREADS
from pacbound.training.machine import is_machine_record
from pacbound.training.networks import plain_network
from pacbound.training.problem import Problem, build
from pacbound.training.tensor_file import read_tensors

__all__ = [
    "Checkpoint",
    "described",
    "holds_network",
    "restore_posterior",
    "restored",
    "stored",
]

FORMAT = "pacbound-checkpoint/2"
LONGEST = 300  # characters of an error message
HARMLESS = 1_000_000  # numbers: a smaller network is built, so that errors name its tensors
LEARNED, GIVEN = "learned_prior", "given_prior"  # the fields of a stored prior
FIELDS = {"format", "settings", "data", "prior_sha256", "epoch", "posterior", "training"}


@dataclass(frozen=True)
class Checkpoint:
    """The posterior's parameters and how they were made.

    It does not hold a prior without data. The prior's centre is made again from its seed and
    compared with `prior_sha256`.
    """

    settings: Settings
    data: dict[str, Any]  # see `described`
    prior_sha256: str
    epoch: int
    posterior: dict[str, Tensor]
    training: dict[str, Any] | None  # the optimiser's state; None after the last epoch
    stored_prior: StoredPrior | None = None  # the prior, unless it is made from a seed

    @property
    def kind(self) -> Kind:
        """What the network expects of its inputs, and what its classes are called."""
        data = self.data
        return Kind(
            tuple(data["input_shape"]),
            data["classes"],
            tuple(data.get("columns", ())),
            self.settings.label,
            tuple(data.get("class_names", ())),
            data.get("dtype", ""),
        )

    @property
    def learned_prior(self) -> LearnedPrior | None:
        """The prior, if it learned from a part of the examples."""
        return self.stored_prior if isinstance(self.stored_prior, LearnedPrior) else None

    def save(self, path: Path) -> None:
        """Write the checkpoint atomically."""
        content = {
            "format": FORMAT,
            "settings": self.settings.to_mapping(),
            "data": self.data,
            "prior_sha256": self.prior_sha256,
            "epoch": self.epoch,
            "posterior": self.posterior,
            "training": self.training,
        }
        if self.stored_prior is not None:
            kind = GIVEN if self.learned_prior is None else LEARNED
            fields = asdict(self.stored_prior)
            if self.learned_prior is not None:
                del fields["fitted"]  # of priors from elsewhere
            content[kind] = fields
        write_whole(path, lambda stream: torch.save(content, stream))

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint. A file that holds anything but tensors is refused, and never run."""
        content = read_tensors(path, "pacbound checkpoint")
        if _is_network(content):
            raise CheckpointError(
                f"{path} is not a pacbound checkpoint: it holds the weights of one network, such "
                "as an exported one; give the checkpoint that the network comes from"
            )
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CheckpointError(f"{path} is not a pacbound checkpoint of format {FORMAT}")
        expected = FIELDS | {LEARNED, GIVEN} & set(content)
        if set(content) != expected:
            odd = ", ".join(sorted(map(str, set(content) ^ expected)))
            raise CheckpointError(f"{path}: missing or unknown fields: {printable(odd, LONGEST)}")
        if not isinstance(content["settings"], dict) or not _describes_data(content["data"]):
            raise CheckpointError(f"{path}: its settings or its data description cannot be read")
        posterior = content["posterior"]
        if not _named_tensors(posterior):
            raise CheckpointError(f"{path}: its posterior is not a set of named tensors")
        if not isinstance(content["epoch"], int) or not isinstance(content["prior_sha256"], str):
            raise CheckpointError(f"{path}: its epoch or its prior digest cannot be read")
        try:
            settings = Settings.from_mapping(content["settings"])
        except PacboundError as error:
            raise CheckpointError(f"{path}: {printable(str(error), LONGEST)}") from error
        return cls(
            settings=settings,
            data=content["data"],
            prior_sha256=content["prior_sha256"],
            epoch=content["epoch"],
            posterior=posterior,
            training=content["training"],
            stored_prior=_learned(content.get(LEARNED), path) or _given(content.get(GIVEN), path),
        )


def described(data: Dataset) -> dict[str, Any]:
    """The checkpoint's record of its training data, and of what a prediction needs."""
    return {
        "name": data.name,
        "sha256": data.sha256,
        "m": data.m,
        "classes": data.classes,
        "input_shape": list(data.input_shape),
        "dtype": str(data.train_inputs.dtype),
        "columns": list(data.columns),
        "class_names": list(data.class_names),
    }


def stored(network: StochasticNetwork) -> dict[str, Tensor]:
    """A copy of the posterior's tensors as a checkpoint stores them: float32, on the CPU."""
    found = {}
    for name, value in network.state_dict().items():
        dtype = torch.float32 if value.is_floating_point() else value.dtype
        found[name] = value.detach().to("cpu", dtype, copy=True)
    return found


def _learned(content: Any, path: Path) -> LearnedPrior | None:
    """A saved learned prior. Callers compare its digest."""
    if content is None:
        return None
    kinds = {"center": dict, "variances": tuple, "threads": int, "seconds": float}
    kinds |= {"machine": dict, "validation": tuple}
    if not isinstance(content, dict) or {k: type(v) for k, v in content.items()} != kinds:
        raise CheckpointError(f"{path}: its learned prior cannot be read")
    if not is_machine_record(content["machine"]):
        raise CheckpointError(
            f"{path}: its learned prior does not say on which machine it was trained"
        )
    if not 1 <= content["threads"] <= MOST_THREADS:
        raise CheckpointError(
            f"{path}: its learned prior was trained with {content['threads']} threads"
        )
    _ensure_values(content, path, "learned prior")
    return LearnedPrior(**content)


def _given(content: Any, path: Path) -> StoredPrior | None:
    """A saved prior from elsewhere. Callers compare its digest."""
    if content is None:
        return None
    kinds: dict[str, Any] = {"center": dict, "variances": tuple | None}
    kinds |= {"validation": tuple, "fitted": Tensor | None}
    if not isinstance(content, dict) or set(content) != set(kinds):
        raise CheckpointError(f"{path}: its prior from elsewhere cannot be read")
    fitted = content["fitted"]
    if isinstance(fitted, Tensor) and (fitted.dtype != torch.uint8 or fitted.shape[1:] != (32,)):
        raise CheckpointError(f"{path}: its prior from elsewhere has no valid digests")
    if not all(isinstance(content[name], kind) for name, kind in kinds.items()):
        raise CheckpointError(f"{path}: its prior from elsewhere cannot be read")
    _ensure_values(content, path, "prior from elsewhere")
    return StoredPrior(**content)


def _ensure_values(content: dict[str, Any], path: Path, prior: str) -> None:
    if not _is_validation(content["validation"]):
        raise CheckpointError(f"{path}: its {prior} has no valid validation counts")
    given = content["variances"]
    numbers = [float(x) if type(x) is float else math.nan for x in given or ()]
    center = content["center"]
    finite = _named_tensors(center) and all(torch.isfinite(x).all() for x in center.values())
    if not finite or not all(0 < x < math.inf for x in numbers):
        raise CheckpointError(f"{path}: its {prior} has invalid tensors or variances")


def _is_validation(counts: tuple[object, ...]) -> bool:
    if len(counts) != 2 or any(type(count) is not int for count in counts):
        return False
    examples, errors = counts
    assert isinstance(examples, int) and isinstance(errors, int)
    return 0 <= errors <= examples


def holds_network(path: Path) -> bool:
    """Whether a file has the weights of one network alone, such as an exported one."""
    return _is_network(read_tensors(path, "pacbound checkpoint"))


def _is_network(content: object) -> bool:
    return bool(content) and _named_tensors(content)


def _named_tensors(tensors: object) -> bool:
    return isinstance(tensors, dict) and all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in tensors.items()
    )


def _describes_data(data: object) -> bool:
    kinds = {"name": str, "sha256": str, "m": int, "classes": int, "input_shape": list}
    more = {"dtype": str, "columns": list, "class_names": list}  # not in older checkpoints
    if not isinstance(data, dict):
        return False
    found = {k: type(v) for k, v in data.items()}
    if found not in (kinds, kinds | more):
        return False
    names = {"columns": data["input_shape"][:1], "class_names": [data["classes"]]}
    return all(
        [len(data.get(key, []))] in ([0], length) and all(type(x) is str for x in data.get(key, []))
        for key, length in names.items()
    )


def _ensure_sizes(checkpoint: Checkpoint, module: nn.Module | None = None) -> None:
    """Refuse settings whose network needs more memory than the tensors stored with them.

    Arguments:
        module: The user's own network, if the checkpoint is of one.
    """
    settings, data = checkpoint.settings, checkpoint.data
    held = sum(value.numel() for value in checkpoint.posterior.values())
    most = max(held, HARMLESS)
    absurd = CheckpointError(
        "the checkpoint's settings ask for a larger network than it has weights for"
    )
    if max(len(settings.hidden), settings.flow_steps) > len(checkpoint.posterior) + 1:
        raise absurd
    shape, classes = tuple(data["input_shape"]), data["classes"]
    kind = posterior_kind(settings.posterior)
    flow = {"hidden": settings.flow_hidden, "steps": settings.flow_steps}
    try:
        with torch.device("meta"):  # tensors there take no memory
            plain = plain_network(settings, shape, classes, module)
    except (RuntimeError, TypeError, OverflowError) as error:  # impossible tensor sizes
        raise absurd from error
    needed = 0
    for value in plain.parameters():
        if not value.requires_grad:
            continue  # constants of the prior
        if value.dim() < 2:
            needed += value.numel()  # a bias may be a column of a matrix that has few scales
            continue
        least = kind.posterior.least_numbers(value.shape, **flow)
        # Maps within blocks may need fewer numbers than maps of the whole tensor.
        within_blocks = settings.blocks and settings.block_maps == "per-block"
        needed += min(least, Diag.least_numbers(value.shape)) if within_blocks else least
    if needed > most:
        raise absurd


def restored(checkpoint: Checkpoint, module: nn.Module | None = None) -> Problem:
    """The network and the prior's centre, rebuilt and compared with the recorded digest.

    Arguments:
        module: The user's own network, if the checkpoint is of one.
    """
    settings, stored = checkpoint.settings, checkpoint.stored_prior
    kind, learned = kind_of(settings), checkpoint.learned_prior
    has = learned is not None, stored is not None and learned is None
    if (kind.learns, kind.keeps_values) != has:
        raise CheckpointError("the checkpoint's settings and its prior are of different kinds")
    _ensure_sizes(checkpoint, module)
    shape = tuple(checkpoint.data["input_shape"])
    problem = build(settings, shape, checkpoint.data["classes"], module, stored)
    if problem.prior_sha256 != checkpoint.prior_sha256:
        made = f"prior's seed {settings.prior_seed} does" if stored is None else "weights do"
        raise CheckpointError(
            f"the {made} not give the prior that the checkpoint records: its digest differs"
        )
    restore_posterior(problem.network, checkpoint.posterior)
    return problem


def restore_posterior(network: StochasticNetwork, posterior: dict[str, Tensor]) -> None:
    """Load a checkpoint's tensors into a network; refuse any that do not fit or make sense."""
    expected = network.state_dict()
    odd = sorted(set(expected) ^ set(posterior))
    if odd:
        raise CheckpointError(f"the checkpoint does not fit its recipe: it has or lacks {odd[0]}")
    for name, value in posterior.items():
        if value.shape != expected[name].shape:
            raise CheckpointError(
                f"the checkpoint does not fit its recipe: {name} has shape "
                f"{tuple(value.shape)}, not {tuple(expected[name].shape)}"
            )
        if value.dtype != expected[name].dtype:
            raise CheckpointError(
                f"the checkpoint's {name} is {value.dtype}, not {expected[name].dtype}"
            )
        if not torch.isfinite(value).all():
            raise CheckpointError(f"the checkpoint's {name} has NaN or infinite entries")
    network.load_state_dict(posterior)
    if flaw := network.flaw():
        raise CheckpointError(f"the checkpoint does not make sense: {flaw}")
