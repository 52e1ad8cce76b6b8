"""The prior that a user declares for a module, before the posterior is trained.

Every choice has a price in the certificate, which the defaults keep small. What is left at None is
as the recipe `module` has it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

__all__ = ["Initialised", "Learned"]


@dataclass(frozen=True)
class Initialised:
    """N(Θ0, λI) around an initialisation that a seed determines: free of data.

    Arguments:
        seed: Of the centre: seed k costs 2 ln(k + 1) nats more than seed 0.
        initializer: What the centre is drawn by: fan-in-uniform, he-normal, …
        hidden_bias: Of the centre's hidden units; negative ones are silent until they are trained.
        input_scale: What all inputs are multiplied by.
        smoothing: How many pixels of an image have similar weights; 0 for none.
        variance_groups: Whether each `layer` has a variance λ of its own, or the `network` one.
    """

    seed: int = 0
    initializer: str = "fan-in-uniform"
    hidden_bias: float = 0.0
    input_scale: float = 1.0
    smoothing: float = 0.0
    variance_groups: str = "layer"

    def settings(self) -> dict[str, object]:
        """As settings of a recipe."""
        values = asdict(self)
        return {"prior_seed": values.pop("seed"), **values}


@dataclass(frozen=True)
class Learned(Initialised):
    """N(Θ1, λI) around a network that is trained in the usual way on a share of the examples.

    The certificate does not count those examples.

    Arguments:
        fraction: That share.
        split_seed: Which examples: split k costs 2 ln(k + 1) nats more than split 0.
        epochs: Passes over them.
        batch: Examples in a step.
        learning_rate: Of AdamW, at the start of a cosine.
        weight_decay: Of AdamW.
        dropout: Of hidden dense units.
        augmentation: none, flip, shift-flip or distort.
        averaging: The decay of Polyak averaging; 0 for none.
        tolerance: The risk that the prior's noise may add on its own examples.
        validation: The share of its examples that it is not fitted to.
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

    def settings(self) -> dict[str, object]:
        """As settings of a recipe."""
        values = {name: value for name, value in super().settings().items() if value is not None}
        shared = {"prior_seed", "split_seed", *Initialised().settings()}
        return {name if name in shared else f"prior_{name}": v for name, v in values.items()}
