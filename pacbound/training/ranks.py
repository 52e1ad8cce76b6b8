"""One process of several that train together, as `torchrun` starts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from pacbound.errors import WorkerError
from pacbound.networks.share import Share

__all__ = ["ALONE", "Ranks", "is_first", "joined", "local_rank", "world_size"]

TIMEOUT = timedelta(minutes=10)  # without an answer from the others
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process's number, and how many there are.

    Every process has a copy of the parameters and takes the same steps with them. Of each batch
    it has consecutive rows, so that the batch is the one of a single process.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the one that writes files and speaks."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there are no others."""
        return self.count == 1

    def share(self, batch: int) -> Share:
        """This process's rows of a batch.

        Example:
            >>> [Ranks(rank, 2).share(7).place for rank in range(2)]
            [slice(0, 3, None), slice(3, 7, None)]
        """
        edges = [batch * rank // self.count for rank in (self.rank, self.rank + 1)]
        return Share(edges[0], edges[1] - edges[0], batch)

    def refuse_unfit(self, noise_streams: int, m: int, batch: int) -> None:
        """Refuse noise of another number of processes, and batches without a row for each."""
        if noise_streams not in (1, self.count):
            raise WorkerError(
                f"noise_streams={noise_streams} is the noise of as many processes, not of "
                f"{self.count}: start it with torchrun --nproc-per-node {noise_streams}"
            )
        smallest = min(m % batch or batch, m)
        if smallest < self.count:
            raise WorkerError(
                f"batches of {batch} from {m} examples leave a last one of {smallest}, fewer than "
                f"the {self.count} processes: choose another batch"
            )

    def means(self, values: Sequence[Tensor]) -> list[Tensor]:
        """The means of scalars over all processes, to the same bit in all of them.

        The gradient of each is that of this process's value. Averaged over the processes, as
        DistributedDataParallel does, gradients of a function of the means are then its true ones,
        although the function is not linear.
        """
        if self.alone:
            return list(values)
        total = torch.stack([value.detach().double() for value in values])
        dist.all_reduce(total)
        means = (total / self.count).unbind()
        pairs = zip(values, means, strict=True)
        # own − own is exactly zero, and only its gradient is left.
        return [mean.to(own) + (own - own.detach()) for own, mean in pairs]

    def same(self, digest: str) -> bool:
        """Whether all processes have this digest."""
        if self.alone:
            return True
        digests: list[str] = [""] * self.count
        dist.all_gather_object(digests, digest)
        return len(set(digests)) == 1

    def from_first(self, make: Callable[[Callable[[], None]], T]) -> T:
        """What the first process makes, for all.

        Arguments:
            make: Calls what it is given from time to time, so that the others, which wait, do not
                take the first for dead.
        """
        if self.alone:
            return make(lambda: None)
        if self.first:
            made = make(lambda: dist.broadcast_object_list([None], 0))
            dist.broadcast_object_list([(made,)], 0)
            return made
        while True:
            heard: list[tuple[T] | None] = [None]
            dist.broadcast_object_list(heard, 0)
            if heard[0] is not None:
                return heard[0][0]


ALONE = Ranks()


def world_size() -> int:
    """How many processes `torchrun` started; 1 without it."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(os.environ):
        return 1
    size = os.environ["WORLD_SIZE"]
    if not size.isdecimal():
        raise WorkerError(f"the variable WORLD_SIZE, of torchrun, is {size!r}, not a number")
    return int(size)


def local_rank() -> int:
    """The number of this process on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) if world_size() > 1 else 0


def is_first() -> bool:
    """Whether this process is the one that writes files and messages."""
    return world_size() == 1 or os.environ.get("RANK") == "0"


@contextmanager
def joined(device: torch.device) -> Iterator[Ranks]:
    """The processes that `torchrun` started, until all of them have finished.

    Without it, or with one process, nothing is begun. Where another process ends before its time,
    this one does not wait for it: `torchrun` ends it, or the broken connection does.
    """
    if world_size() == 1:
        yield ALONE
        return
    if device.type not in BACKENDS:
        raise WorkerError(f"several processes can train on cpu and cuda, not on {device.type}")
    try:
        dist.init_process_group(BACKENDS[device.type], timeout=TIMEOUT)
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkerError(f"the processes of torchrun do not find each other: {reason}") from error
    ranks = Ranks(dist.get_rank(), dist.get_world_size())
    try:
        yield ranks
        dist.barrier()  # none leaves while another still speaks to it
    except RuntimeError as error:
        if not _is_lost_connection(error):
            raise
        raise WorkerError(
            f"process {ranks.rank} of {ranks.count} lost the others: one of them ended, or did not "
            "answer; the same command with --resume continues after the last whole epoch"
        ) from error
    finally:
        dist.destroy_process_group()


def _is_lost_connection(error: RuntimeError) -> bool:
    # gloo raises a bare RuntimeError that names its source file.
    return isinstance(error, dist.DistError) or "gloo" in str(error).lower()
