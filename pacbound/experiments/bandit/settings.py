"""The hyper-parameters of an agent: a frozen dataclass, from YAML and `key=value` overrides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pacbound.errors import SettingError, unknown_name
from pacbound.experiments.bandit.scores import SCORES
from pacbound.networks.initializers import INITIALIZERS

__all__ = [
    "FUNCTIONAL",
    "LOOP",
    "NOISE",
    "PRIOR",
    "REGRESSION",
    "SCALES",
    "TRAINING",
    "AgentSettings",
]

# Names of settings, for agents to say which of them they read.
LOOP = frozenset({"train_every", "initial_training"})  # read by what plays the agent
SCALES = frozenset({"context_scale", "reward_scale", "standardize"})
TRAINING = frozenset(
    {"minibatches", "batch", "learning_rate", "decay", "slowing", "reset_optimizer", "hidden"}
    | {"initializer", "initial_gain", "context_length"}
)
NOISE = frozenset({"noise", "learn_noise", "gamma_shape"})
PRIOR = frozenset({"beta", "prior_variance", "prior_by_width"})
REGRESSION = frozenset({"ridge", "gamma_shape", "gamma_rate"})
FUNCTIONAL = frozenset(
    {"beta", "kernel_variance", "kernel_length", "measurement_points", "measurement_noise"}
    | {"function_draws", "score"}
)


@dataclass(frozen=True)
class AgentSettings:
    """All settings of an agent except its name and its seed. Agents read what they need."""

    # training of all agents with a network
    train_every: int = 50  # contexts between trainings
    initial_training: bool = False  # train once more, right after the round robin
    minibatches: int = 200  # in each training
    batch: int = 512
    learning_rate: float = 1e-3
    decay: float = 0.0  # minibatch i of a training has the rate / (1 + decay·i)
    slowing: float = 0.0  # with n observations, the rate is learning_rate / (1 + slowing·n/1000)
    reset_optimizer: bool = False  # reset it before each training
    hidden: int = 50
    initializer: str = "fan-in-uniform"
    initial_gain: float = 1.0  # the initial means are multiplied by this
    context_scale: float = 1.0  # contexts are divided by this
    context_length: float = 0.0  # or scaled to this mean length, at the first training
    reward_scale: float = 1.0  # and rewards by this
    standardize: bool = False  # rewards by the mean and deviation of those seen so far
    # the ELBO
    noise: float = 0.5  # σ of the likelihood, in scaled rewards
    learn_noise: bool = False  # from the residuals, with a prior at `noise`
    prior_variance: tuple[float, ...] = (1.0,)  # for all weights, or for each layer
    prior_by_width: bool = False  # divide it by the number of inputs of the layer
    floor: float = 0.0  # of predictions' deviations, in units of a linear regression's
    beta: float = 1.0  # the weight of the KL, or of the L2 penalty without noise
    initial_scale: tuple[float, ...] = (0.05,)  # of the posterior: for all, or for each layer
    # K-Nonlinear
    flow_hidden: tuple[int, ...] = (50,)
    flow_steps: int = 2  # per mode of a weight
    weight_draws: int = 1  # per minibatch
    # fBNN: the prior over functions, in scaled rewards, and the estimate of the KL to it
    kernel_variance: float = 1.0
    kernel_length: float = 1.0  # in units of the distance of typical contexts
    measurement_points: int = 16
    measurement_noise: float = 0.02  # its deviation
    function_draws: int = 32  # networks, from which the score is estimated
    score: str = "gaussian"  # or spectral
    # the bootstrap
    members: int = 3
    share: float = 0.8  # the probability that a member sees an observation
    # Bayesian linear regression
    ridge: float = 0.25  # λ, the prior's precision relative to that of the noise
    gamma_shape: float = 6.0  # a0 of the prior of the noise
    gamma_rate: float = 6.0  # b0

    def __post_init__(self) -> None:
        for name, (valid, expected) in _RULES.items():
            if not valid(getattr(self, name)):
                raise SettingError(
                    f"setting {name} must be {expected}, not {getattr(self, name)!r}"
                )
        if self.context_length and self.context_scale != 1:
            raise SettingError(
                "settings context_length and context_scale exclude each other: set context_length "
                "to 0, or context_scale to 1"
            )
        if self.batch % self.weight_draws:
            raise SettingError(
                f"setting weight_draws must divide the batch of {self.batch}, "
                f"which {self.weight_draws} does not"
            )
        # The inverse covariance of few draws is too large: at 16 points, measured for pairs of
        # draws, 6.8 times for 24 of them, 3.3 times for 32, and 1.6 times for 64.
        least = math.ceil(1.5 * self.measurement_points)
        if self.score == "gaussian" and self.function_draws < least:
            raise SettingError(
                f"setting function_draws must be {least} or more for a gaussian score with "
                f"{self.measurement_points} measurement_points, not {self.function_draws}"
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> AgentSettings:
        """Settings from parsed YAML; missing ones have their defaults."""
        types = {field.name: field.type for field in fields(cls)}
        converted = {}
        for key, value in values.items():
            if key not in types:
                raise unknown_name("setting", str(key), types)
            converted[key] = _as(str(types[key]), value)
        return cls(**converted)

    def changes(self) -> dict[str, Any]:
        """What differs from the defaults: a new setting changes nothing about older runs."""
        defaults = AgentSettings().to_mapping()
        return {k: v for k, v in self.to_mapping().items() if v != defaults[k]}

    def to_mapping(self) -> dict[str, Any]:
        """The inverse of `from_mapping`, with plain types."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def _as(kind: str, value: Any) -> Any:
    """A YAML value converted to a field's type, if only the notation differs."""
    if kind.startswith("tuple"):
        parts = value if isinstance(value, list | tuple) else [value]
        return tuple(_as(kind.removeprefix("tuple[").split(",")[0], part) for part in parts)
    return float(value) if kind == "float" and type(value) is int else value


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least


def _number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _not_negative(value: Any) -> bool:
    return _number(value) and value >= 0


def _for_layers(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) in (1, 2) and all(map(_positive, value))


def _sizes(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(map(_whole(1), value))


def _flag(value: Any) -> bool:
    return type(value) is bool


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "train_every": (_whole(1), "a whole number of contexts"),
    "initial_training": (_flag, "true or false"),
    "minibatches": (_whole(1), "a whole number of 1 or more"),
    "batch": (_whole(1), "a whole number of 1 or more"),
    "learning_rate": (_positive, "a positive number"),
    "decay": (_not_negative, "a number of 0 or more"),
    "slowing": (_not_negative, "a number of 0 or more"),
    "reset_optimizer": (_flag, "true or false"),
    "hidden": (_whole(2), "a whole number of 2 or more"),
    "initializer": (lambda value: value in INITIALIZERS, f"one of {', '.join(INITIALIZERS)}"),
    "initial_gain": (_positive, "a positive number"),
    "context_scale": (_positive, "a positive number"),
    "context_length": (_not_negative, "a number of 0 or more"),
    "reward_scale": (_positive, "a positive number"),
    "standardize": (_flag, "true or false"),
    "noise": (_positive, "a positive number"),
    "learn_noise": (_flag, "true or false"),
    "prior_variance": (_for_layers, "a positive number, or one for each of the two layers"),
    "prior_by_width": (_flag, "true or false"),
    "floor": (lambda value: _not_negative(value) and value <= 1e6, "a number from 0 to 1e6"),
    "beta": (_not_negative, "a number of 0 or more"),
    "initial_scale": (_for_layers, "a positive number, or one for each of the two layers"),
    "flow_hidden": (_sizes, "a list of positive layer sizes, such as [50]"),
    "flow_steps": (_whole(0), "a whole number of 0 or more"),
    "weight_draws": (_whole(1), "a whole number of 1 or more"),
    "kernel_variance": (_positive, "a positive number"),
    "kernel_length": (_positive, "a positive number"),
    "measurement_points": (_whole(1), "a whole number of 1 or more"),
    "measurement_noise": (_positive, "a positive number"),
    "function_draws": (_whole(2), "a whole number of 2 or more"),
    "score": (lambda value: value in SCORES, f"one of {', '.join(SCORES)}"),
    "members": (_whole(1), "a whole number of 1 or more"),
    "share": (lambda value: _positive(value) and value <= 1, "a probability above 0"),
    "ridge": (_positive, "a positive number"),
    "gamma_shape": (_positive, "a positive number"),
    "gamma_rate": (_positive, "a positive number"),
}
