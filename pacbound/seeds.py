"""Randomness derived from digests: every stream has a name, and seeds cannot be selected."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import torch
from torch import Tensor

__all__ = ["Noise", "TrainingNoise", "certificate_seed", "derive"]

POOL_WORDS = 8  # 32-bit words: as many bits as a seed has


def derive(purpose: str, *parts: object) -> str:
    """SHA-256 of the purpose and the parts (as canonical JSON), in hexadecimal."""
    text = json.dumps([purpose, *parts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def certificate_seed(purpose: str, model_sha256: str, prior_sha256: str, data_sha256: str) -> str:
    """The seed of a certificate's draw, risk or kl, as defined in SPEC.md.

    It depends only on what is claimed. No name, time or setting enters, so nobody can try seeds
    until one is lucky.
    """
    text = f"pacbound-seed/2 {purpose} {model_sha256} {prior_sha256} {data_sha256}\n"
    return hashlib.sha256(text.encode()).hexdigest()


class Noise:
    """A stream of random numbers determined by one derived seed.

    All 256 bits of the seed enter the generator's state. So streams of different chunks of work
    are independent; a generator seeded with 32 bits could not guarantee this.
    By default, NumPy's SeedSequence would mix them into a pool of 128 bits.

    Numbers are drawn on the CPU, so they are the same on every device.

    Arguments:
        seed: A hexadecimal seed from `derive` or `certificate_seed`.
        device: The device of the returned numbers.

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
        """Uniform numbers in [0, 1)."""
        return torch.from_numpy(self.generator.random(shape, dtype=np.float32)).to(self.device)

    def choice(self, n: int, count: int) -> Tensor:
        """Numbers from 0 … n−1, drawn uniformly with replacement."""
        return torch.from_numpy(self.generator.integers(n, size=count)).to(self.device)

    def permutation(self, n: int) -> Tensor:
        """A random permutation of 0 … n−1."""
        return torch.from_numpy(self.generator.permutation(n)).to(self.device)


class TrainingNoise(Noise):
    """The same at half the cost, for training, where independence need not be proved.

    torch seeds its generator with only 32 bits.
    """

    def __init__(self, seed: str, device: torch.device | str = "cpu") -> None:
        super().__init__(seed, device)
        self.fast = torch.Generator().manual_seed(int(seed[:16], 16) >> 1)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(shape, generator=self.fast, dtype=dtype).to(self.device)
