"""Randomness derived from digests: every stream has a name, and nobody can shop for seeds."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import torch
from torch import Tensor

__all__ = ["Noise", "TrainingNoise", "certificate_seed", "derive"]

POOL_WORDS = 8  # of 32 bits: as many bits as a seed has


def derive(purpose: str, *parts: object) -> str:
    """SHA-256 of the purpose and the parts (as canonical JSON), in hexadecimal."""
    text = json.dumps([purpose, *parts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def certificate_seed(purpose: str, model_sha256: str, prior_sha256: str, data_sha256: str) -> str:
    """The seed of a certificate's draw, risk or kl, as SPEC.md defines it.

    It follows from what is claimed and from nothing else: no name, time or setting enters, so
    there is nothing to try until it is lucky.
    """
    text = f"pacbound-seed/2 {purpose} {model_sha256} {prior_sha256} {data_sha256}\n"
    return hashlib.sha256(text.encode()).hexdigest()


class Noise:
    """A stream of random numbers that is a function of one derived seed alone.

    All 256 bits of the seed enter the generator's state: streams of different chunks of work
    are independent, which a generator seeded with 32 bits could not promise.
    NumPy's SeedSequence would by default mix them into a pool of 128 bits.

    Numbers are drawn on the CPU, wherever they are used: they are the same on every device.

    Arguments:
        seed: In hexadecimal, from `derive` or `certificate_seed`.
        device: Where the numbers are wanted.

    Example:
        >>> noise = Noise(derive("example", 0))
        >>> noise.normal(2, 3).shape
        torch.Size([2, 3])
    """

    def __init__(self, seed: str, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        pool = np.random.SeedSequence(int(seed, 16), pool_size=POOL_WORDS)
        self.generator = np.random.Generator(np.random.SFC64(pool))

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard normal numbers."""
        kind = np.float64 if dtype == torch.float64 else np.float32
        return torch.from_numpy(self.generator.standard_normal(shape, dtype=kind)).to(self.device)

    def uniform(self, *shape: int) -> Tensor:
        """Numbers from 0 to below 1."""
        return torch.from_numpy(self.generator.random(shape, dtype=np.float32)).to(self.device)

    def choice(self, n: int, count: int) -> Tensor:
        """So many of 0 … n−1, drawn uniformly with replacement."""
        return torch.from_numpy(self.generator.integers(n, size=count)).to(self.device)

    def permutation(self, n: int) -> Tensor:
        """A random order of 0 … n−1."""
        return torch.from_numpy(self.generator.permutation(n)).to(self.device)


class TrainingNoise(Noise):
    """The same at half the cost, for training, where streams need not be proved independent.

    torch seeds its generator with 32 bits only.
    """

    def __init__(self, seed: str, device: torch.device | str = "cpu") -> None:
        super().__init__(seed, device)
        self.fast = torch.Generator().manual_seed(int(seed[:16], 16) >> 1)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(shape, generator=self.fast, dtype=dtype).to(self.device)
