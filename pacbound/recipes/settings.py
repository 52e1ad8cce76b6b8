"""The settings of a training run: a frozen dataclass, read from YAML and `key=value` overrides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from pacbound.errors import SettingError, by_caller, unknown_name
from pacbound.networks.registry import NETWORKS
from pacbound.posteriors import POSTERIORS, posterior_kind
from pacbound.printable import recordable

__all__ = ["Settings", "allowed"]


def _one_of(*names: str) -> Callable[[Any], bool]:
    return lambda value: value in names


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    )


def _positive(value: Any) -> bool:
    return _between(0, math.inf)(value) and 0 < value < math.inf


def _sizes(value: Any) -> bool:
    return isinstance(value, tuple) and all(_whole(1)(size) for size in value)


def _scales(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(map(_between(1e-6, 10), value))


def _patterns(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) and text for text in value)


def _blocks(value: Any) -> bool:
    return isinstance(value, tuple) and all(_sizes(entry) and len(entry) > 2 for entry in value)


def _origin(value: Any) -> bool:
    if not isinstance(value, str) or (value and not value.strip()):
        return False
    return recordable(value, LONGEST_ORIGIN) == value


def _below_one(value: Any) -> bool:
    return _between(0, 1)(value) and value < 1


PRIOR_OPTIMIZERS = ("adamw", "muon")
SCHEDULES = ("cosine", "constant", "one-cycle")
LONGEST_ORIGIN = 200  # characters, as in a certificate
AUGMENTATIONS = ("none", "flip", "flip-crop", "flip-shift", "distort")


def _augmentation(value: Any) -> bool:
    return value in AUGMENTATIONS


@dataclass(frozen=True)
class Settings:
    """Everything that determines a training run.

    The first group describes the prior. The certificate pays for choices made there by looking at
    data. The rest is free, because the bound holds for every posterior at once.
    """

    recipe: str
    protocol: str
    data: str
    # the prior
    network: str
    hidden: tuple[int, ...]
    initializer: str
    prior_seed: int
    input_scale: float
    smoothing: float
    alignment: str
    hidden_bias: float
    variance_groups: str
    # the posterior and its optimisation
    posterior: str
    objective: str
    prior_variance: str
    initial_scale: tuple[float, ...]
    flow: str
    flow_hidden: tuple[int, ...]
    flow_steps: int
    flow_learning_rate: float
    kl_samples: int
    linear_epochs: int
    epochs: int
    batch: int
    weight_draws: int
    learning_rate: float
    schedule: str
    warm_start_epochs: int
    averaging: float
    delta: float
    seed: int
    # a prior trained on a part of the examples, which the certificate does not count
    prior_fraction: float = 0.0  # that part; 0 for a prior without data
    split_seed: int = 0
    prior_epochs: int = 20
    prior_batch: int = 100
    prior_learning_rate: float = 0.001
    prior_optimizer: str = "adamw"
    prior_schedule: str = "cosine"
    prior_weight_decay: float = 0.0
    prior_dropout: float = 0.0  # for hidden dense units
    prior_augmentation: str = "none"
    prior_averaging: float = 0.0
    prior_smoothing: float = 0.0  # the share of each label that is spread over all classes
    prior_products: str = "float32"  # of matrices and convolutions, in training the prior
    prior_tolerance: float = 0.001  # the risk that the prior's noise may add on that part
    prior_spread: float = 1.0  # the most noise of the prior, relative to a layer's weights
    prior_validation: float = 0.0  # the share of that part held out from training the prior
    prior_scaling: str = "none"  # columns: scale each input by its mean and deviation there
    prior_choice: str = "none"  # validation: choose one of the recipe's candidates there
    # blocks of units, each with a prior variance of its own
    blocks: tuple[tuple[int, ...], ...] = ()  # the position of a layer, then the sizes
    later_bias: float = 0.0  # the bias of units in the second and later blocks
    later_scale: float = 0.01  # the scale at which their posterior starts
    block_maps: str = "per-block"  # a posterior for each block, or one with maps across blocks
    # a prior from elsewhere, declared to be free of the counted examples
    origin: str = ""  # where it comes from; empty for other priors
    prior_weights: str = ""  # its file
    frozen: tuple[str, ...] = ()  # patterns of parameters that stay as they are
    fresh: tuple[str, ...] = ()  # patterns of parameters that the initializer makes instead
    constants: tuple[str, ...] = ()  # patterns of buffers, declared free of the examples
    prior_data: str = ""  # other examples, to fit the prior's variances on
    # variational inference: a prior with fixed variance, and the ELBO as the objective
    fixed_variance: float = 1.0  # the prior's variance if prior_variance is fixed
    start: str = "prior"  # the posterior's mean: the prior's centre, or an initializer
    beta: float = 1.0  # the weight of the KL in the ELBO
    beta_annealing: float = 0.0  # the part of training during which beta grows from 0
    input_shift: float = 0.0  # what is subtracted from inputs; no certificate describes that
    scale_rate: float = 1.0  # the rate of the posterior's log-scales, in units of learning_rate
    augmentation: str = "none"
    batch_norm: bool = False
    # a user's own module and table
    model: str = ""  # the factory of the module: package.module:factory
    structure: str = ""  # the digest of its layers, filled in by training
    label: str = ""  # the column of a table that holds the classes
    # what is certified, unless certify is told otherwise
    predictor: str = "gibbs"
    # arithmetic
    products: str = "float32"  # of matrices and convolutions: float32 or bfloat16
    # a continued run
    earlier_epochs: int = 0  # the part of `epochs` trained before, with its own schedule
    # several processes
    noise_streams: int = 1  # 1: processes share one; else the number of processes, each its own

    def __post_init__(self) -> None:
        for name, (valid, expected) in _RULES.items():
            value = getattr(self, name)
            if not valid(value):
                raise SettingError(f"setting {name} must be {_words(expected)}, not {value!r}")
        posterior, network = posterior_kind(self.posterior), NETWORKS[self.network]
        if self.linear_epochs and not posterior.starts_as:
            names = [name for name, kind in POSTERIORS.items() if kind.starts_as]
            raise SettingError(
                f"setting linear_epochs is for {' or '.join(names)}: other posteriors are linear"
            )
        if not posterior.has_noise and self.prior_variance != "fixed":
            raise SettingError(
                f"a {posterior.name} has no noise, so no bound: it is for variational inference"
            )
        if self.blocks and self.variance_groups != "layer":
            raise SettingError("setting blocks needs variance_groups layer: each has a variance")
        if self.block_maps == "across":
            names = [name for name, kind in POSTERIORS.items() if kind.maps_across]
            if not self.blocks:
                raise SettingError("setting block_maps across needs blocks")
            if not posterior.maps_across:
                raise SettingError(
                    f"setting block_maps across needs maps that run across blocks: "
                    f"posterior {_or(*names)}, not {posterior.name}"
                )
        if self.earlier_epochs and self.earlier_epochs >= self.epochs:
            raise SettingError("setting earlier_epochs must be below epochs, which includes them")
        if self.objective == "elbo" and self.prior_fraction:
            raise SettingError(
                "a learned prior is for bounds: variational inference has its own prior"
            )
        if self.objective != "elbo" and self.input_shift:
            raise SettingError(
                "setting input_shift is for variational inference: certificates have no such shift"
            )
        if self.origin and self.prior_fraction:
            raise SettingError(
                "a prior is learned from a part of the examples or comes from elsewhere, not both"
            )
        if not self.origin and (self.frozen or self.fresh or self.prior_data or self.prior_weights):
            raise SettingError(
                "settings frozen, fresh, prior_data and prior_weights are for a prior from "
                "elsewhere: declare its origin"
            )
        if self.prior_scaling != "none" and not (self.prior_fraction and network.build):
            raise SettingError(
                "setting prior_scaling is for built-in networks with a learned prior: its part of "
                "the examples scales the columns"
            )
        if self.batch_norm and not network.allows_batch_norm:
            names = [name for name, other in NETWORKS.items() if other.allows_batch_norm]
            raise SettingError(f"setting batch_norm is for {' or '.join(names)}")
        if network.learns_statistics and not self.prior_fraction and not self.origin:
            raise SettingError(
                f"network {self.network} has statistics of the data (batch normalisation): give it "
                "a learned prior or one from elsewhere"
            )
        if flaw := network.flaw(self.hidden):
            raise SettingError(f"setting hidden {flaw}")
        if not network.is_given and (self.model or self.structure):
            names = [name for name, other in NETWORKS.items() if other.is_given]
            raise SettingError(
                f"a model of your own needs network {' or '.join(names)}, not {self.network}"
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from parsed YAML or a checkpoint. Every key without a default is required."""
        names = [field.name for field in fields(cls)]
        for key in values:
            if key == "trials":
                raise SettingError(
                    "there is no setting trials: declare what was tried when you certify, with "
                    f"{by_caller('--candidates', 'candidates')} (listed before the first look) or "
                    f"{by_caller('--looks', 'looks')} (adaptive)"
                )
            if key not in names:
                raise unknown_name("setting", str(key), names)
        needed = [field.name for field in fields(cls) if field.default is MISSING]
        missing = [name for name in needed if name not in values]
        if missing:
            raise SettingError(f"the settings lack {', '.join(missing)}")
        converted = dict(values)
        for field in fields(cls):
            if field.name not in converted:
                continue
            value = converted[field.name]
            if field.type in ("tuple[int, ...]", "tuple[str, ...]") and isinstance(value, list):
                converted[field.name] = tuple(value)
            if field.type == "tuple[tuple[int, ...], ...]" and isinstance(value, list):
                converted[field.name] = tuple(
                    tuple(entry) if isinstance(entry, list) else entry for entry in value
                )
            if field.type == "tuple[str, ...]" and isinstance(value, str):
                converted[field.name] = (value,)
            if field.type == "float" and type(value) is int:
                converted[field.name] = float(value)
            if field.type == "tuple[float, ...]":
                parts = value if isinstance(value, list | tuple) else [value]
                converted[field.name] = tuple(float(x) if type(x) is int else x for x in parts)
        return cls(**converted)

    def everything(self) -> dict[str, Any]:
        """Every setting by name, as plain types."""
        values = asdict(self)
        return {k: _plain(v) for k, v in values.items()}

    def to_mapping(self) -> dict[str, Any]:
        """The inverse of `from_mapping`: `everything` except the defaults.

        Records made before a setting existed stay the same.
        """
        at_default = {f.name for f in fields(self) if getattr(self, f.name) == f.default}
        return {k: v for k, v in self.everything().items() if k not in at_default}


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _or(*names: str) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _network_names() -> str:
    return _or(*NETWORKS)


def _words(expected: str | Callable[[], str]) -> str:
    return expected if isinstance(expected, str) else expected()


# Whether a value is valid, and a description of the valid values.
_RULES: dict[str, tuple[Callable[[Any], bool], str | Callable[[], str]]] = {
    "recipe": (lambda value: isinstance(value, str), "a name"),
    "protocol": (lambda value: isinstance(value, str), "the name of a protocol"),
    "data": (lambda value: isinstance(value, str) and bool(value), "a data set or a path"),
    "network": (lambda value: isinstance(value, str) and value in NETWORKS, _network_names),
    "hidden": (_sizes, "a list of positive layer sizes, such as [600] or [600, 600]"),
    "initializer": (lambda value: isinstance(value, str), "the name of an initializer"),
    "prior_seed": (_whole(0), "a whole number of 0 or more"),
    "input_scale": (_between(1e-3, 1e3), "a positive number"),
    "smoothing": (_between(0, 100), "a length in pixels, 0 for none"),
    "alignment": (_one_of("none", "deskew"), "none or deskew"),
    "hidden_bias": (_between(-100, 100), "a number, such as -4"),
    "variance_groups": (_one_of("layer", "network"), "layer or network"),
    "posterior": (lambda value: isinstance(value, str), "the name of a posterior"),
    "objective": (lambda value: isinstance(value, str), "the name of an objective"),
    "prior_variance": (_one_of("profiled", "trained", "fixed"), "profiled, trained or fixed"),
    "fixed_variance": (_positive, "a positive number"),
    "start": (lambda value: isinstance(value, str), "prior, or the name of an initializer"),
    "beta": (_between(0, 1e6), "a number of 0 or more"),
    "input_shift": (_between(-1e3, 1e3), "a number, such as 0.5 for images from 0 to 1"),
    "scale_rate": (_between(1e-3, 1e3), "a positive number"),
    "beta_annealing": (_between(0, 1), "a part of training, from 0 to 1"),
    "augmentation": (_augmentation, f"one of {', '.join(AUGMENTATIONS)}"),
    "prior_augmentation": (_augmentation, f"one of {', '.join(AUGMENTATIONS)}"),
    "prior_fraction": (_below_one, "a part of the examples from 0 (none) to below 1"),
    "split_seed": (_whole(0), "a whole number of 0 or more"),
    "prior_epochs": (_whole(1), "a whole number of 1 or more"),
    "prior_batch": (_whole(1), "a whole number of 1 or more"),
    "prior_learning_rate": (_positive, "a positive number"),
    "prior_optimizer": (_one_of(*PRIOR_OPTIMIZERS), _or(*PRIOR_OPTIMIZERS)),
    "prior_schedule": (_one_of(*SCHEDULES), _or(*SCHEDULES)),
    "prior_smoothing": (_below_one, "at least 0 and below 1"),
    "prior_products": (_one_of("float32", "bfloat16"), "float32 or bfloat16"),
    "prior_weight_decay": (_between(0, 1e3), "a number of 0 or more"),
    "prior_dropout": (_below_one, "at least 0 and below 1"),
    "prior_averaging": (_below_one, "a decay of at least 0 (off) and below 1"),
    "prior_tolerance": (lambda value: _positive(value) and value < 1, "a risk above 0, below 1"),
    "prior_spread": (lambda value: _positive(value) and value <= 1, "above 0, at most 1"),
    "prior_validation": (_below_one, "a share of the prior's part from 0 (none) to below 1"),
    "prior_scaling": (_one_of("none", "columns"), "none or columns"),
    "prior_choice": (_one_of("none", "validation"), "none or validation"),
    "predictor": (lambda value: isinstance(value, str), "the name of a predictor"),
    "blocks": (
        _blocks,
        "a list of layers with the sizes of their blocks, such as [[1, 30, 570]]",
    ),
    "later_bias": (_between(-100, 100), "a number, such as -4"),
    "later_scale": (_between(1e-6, 10), "a positive number"),
    "block_maps": (_one_of("per-block", "across"), "per-block or across"),
    "origin": (
        _origin,
        f"a printable text of at most {LONGEST_ORIGIN} characters, without “ and ”",
    ),
    "prior_weights": (lambda value: isinstance(value, str), "the name of a file"),
    "frozen": (_patterns, "patterns of names, such as features.*"),
    "fresh": (_patterns, "patterns of names, such as head.*"),
    "constants": (_patterns, "patterns of names, such as positions"),
    "prior_data": (lambda value: isinstance(value, str), "a data set or a path"),
    "batch_norm": (lambda value: isinstance(value, bool), "true or false"),
    "model": (lambda value: isinstance(value, str), "a name such as package.module:factory"),
    "structure": (lambda value: isinstance(value, str), "the digest of a module's layers"),
    "label": (lambda value: isinstance(value, str), "the name of a column"),
    "products": (_one_of("float32", "bfloat16"), "float32 or bfloat16"),
    "earlier_epochs": (_whole(0), "a whole number of 0 or more"),
    "noise_streams": (_whole(1), "1, or the number of processes, each with noise of its own"),
    "initial_scale": (_scales, "a positive number, or one for each layer"),
    "flow": (_one_of("iaf", "realnvp"), "iaf or realnvp"),
    "flow_hidden": (_sizes, "a list of positive layer sizes, such as [128]"),
    "flow_steps": (_whole(0), "a whole number of 0 or more"),
    "flow_learning_rate": (_positive, "a positive number"),
    "kl_samples": (_whole(1), "a whole number of 1 or more"),
    "linear_epochs": (_whole(0), "a whole number of 0 or more"),
    "epochs": (_whole(1), "a whole number of 1 or more"),
    "batch": (_whole(1), "a whole number of 1 or more"),
    "weight_draws": (_whole(1), "a whole number of 1 or more"),
    "learning_rate": (_positive, "a positive number"),
    "schedule": (_one_of(*SCHEDULES), _or(*SCHEDULES)),
    "warm_start_epochs": (_whole(0), "a whole number of 0 or more"),
    "averaging": (_below_one, "a decay of at least 0 (off) and below 1"),
    "delta": (
        lambda value: _between(0, 1)(value) and 0 < value < 1,
        "a probability between 0 and 1",
    ),
    "seed": (_whole(0), "a whole number of 0 or more"),
}


def allowed() -> dict[str, str]:
    """A description of the valid values of each setting."""
    return {name: _words(expected) for name, (_, expected) in _RULES.items()}
