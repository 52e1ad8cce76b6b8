"""The prior that a user declares for a module, before the posterior is trained.

Every choice has a price in the certificate. The defaults keep it small. None means the value of the
recipe `module`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pacbound.errors import SettingError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Elsewhere", "Initialised", "Learned", "elsewhere"]


def _patterns(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


@dataclass(frozen=True)
class Initialised:
    """N(Θ0, λI) around an initialisation determined by a seed: free of data.

    Arguments:
        seed: The seed of the centre; seed k costs 2 ln(k + 1) nats more than seed 0.
        initializer: The initializer of the centre: fan-in-uniform, he-normal, …
        hidden_bias: The bias of the centre's hidden units. With a negative one, they start silent.
        input_scale: The factor of all inputs.
        smoothing: The distance, in pixels, over which weights are similar; 0 for none.
        variance_groups: `layer` for one variance λ per layer, `network` for a single one.
    """

    seed: int = 0
    initializer: str = "fan-in-uniform"
    hidden_bias: float = 0.0
    input_scale: float = 1.0
    smoothing: float = 0.0
    variance_groups: str = "layer"

    def settings(self) -> dict[str, object]:
        """The settings of a recipe with these choices."""
        values = asdict(self)
        return {"prior_seed": values.pop("seed"), **values}


@dataclass(frozen=True)
class Learned(Initialised):
    """N(Θ1, λI) around a network trained in the usual way on a share of the examples.

    The certificate does not count those examples.

    Arguments:
        fraction: That share.
        split_seed: Selects the examples; split k costs 2 ln(k + 1) nats more than split 0.
        epochs: Passes over them.
        batch: Examples per step.
        learning_rate: The learning rate of AdamW at the start of a cosine schedule.
        weight_decay: The weight decay of AdamW.
        dropout: The dropout rate of hidden dense units.
        augmentation: none, flip, flip-crop or distort.
        averaging: The decay of Polyak averaging; 0 for none.
        tolerance: The risk that the prior's noise may add on its own examples.
        validation: The share of its examples held out from its training.
        constants: Patterns of the names of buffers. You declare that they do not depend on the
            examples.
    """

    fraction: float = 0.5
    split_seed: int = 0
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    dropout: float | None = None
    augmentation: str | None = None
    averaging: float | None = None
    tolerance: float | None = None
    validation: float | None = None
    constants: str | Sequence[str] = ()

    def settings(self) -> dict[str, object]:
        """The settings of a recipe with these choices."""
        values = {name: value for name, value in super().settings().items() if value is not None}
        shared = {"prior_seed", "split_seed", "constants", *Initialised().settings()}
        values["constants"] = _patterns(self.constants)
        return {name if name in shared else f"prior_{name}": v for name, v in values.items()}


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """N(Θ, λI) around weights that were made without the counted examples: all of those count.

    You declare that; nobody can check it. The certificate has the digest of the weights and the
    origin, and says so.

    Arguments:
        state: The weights as a state dict; by default those of the module.
        origin: Where they come from, such as "ImageNet, release 1.2".
        frozen: Patterns of the names of parameters that stay as they are, such as `features.*`.
            Parameters of the module that need no gradient, and those of batch normalisation, are
            frozen too.
        fresh: Patterns of the names of parameters that the initializer makes, such as `head.*`.
        seed: The seed of fresh parameters.
        initializer: The initializer of fresh parameters.
        variance_groups: `layer` for one variance λ per layer, `network` for a single one.
        data: The name of a data set or a file with other examples, to fit the variances on. By
            default the variances are chosen on the grid, at a price.
    """

    state: Mapping[str, Tensor] | None = None
    origin: str = ""
    frozen: str | Sequence[str] = ()
    fresh: str | Sequence[str] = ()
    seed: int = 0
    initializer: str = "fan-in-uniform"
    variance_groups: str = "layer"
    data: str = ""

    def settings(self) -> dict[str, object]:
        """The settings of a recipe with these choices."""
        if not self.origin.strip():
            raise SettingError("declare where the prior's weights come from: origin=…")
        if not isinstance(self.data, str):
            raise SettingError("data is the name of a data set or a file with other examples")
        return {
            "origin": self.origin,
            "frozen": _patterns(self.frozen),
            "fresh": _patterns(self.fresh),
            "prior_seed": self.seed,
            "initializer": self.initializer,
            "variance_groups": self.variance_groups,
            "prior_data": self.data,
        }


elsewhere = Elsewhere  # a declaration reads better in lower case: prior=priors.elsewhere(state, …)
