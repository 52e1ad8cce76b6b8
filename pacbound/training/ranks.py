"""One of several processes that train together, started by `torchrun`."""

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

from pacbound.errors import WorkerError, by_caller
from pacbound.networks.share import Share

__all__ = ["ALONE", "Ranks", "is_first", "joined", "local_rank", "world_size"]

TIMEOUT = timedelta(minutes=10)  # without a response from the others
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process's rank, and the number of processes.

    Every process has a copy of the parameters and takes the same steps. It has consecutive rows of
    each batch, so the batch is the same as in a single process.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and messages."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there are no other processes."""
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
        """Refuse noise for another number of processes, and batches too small for all of them."""
        if noise_streams not in (1, self.count):
            raise WorkerError(
                f"noise_streams={noise_streams} is for that many processes, not for {self.count}: "
                f"start it with torchrun --nproc-per-node {noise_streams}"
            )
        smallest = min(m % batch or batch, m)
        if smallest < self.count:
            raise WorkerError(
                f"batches of {batch} from {m} examples leave a last one of {smallest}, fewer than "
                f"the {self.count} processes: choose another batch"
            )

    def means(self, values: Sequence[Tensor]) -> list[Tensor]:
        """The means of scalars over all processes, equal to the last bit in all of them.

        The gradient of each mean is that of this process's value. DistributedDataParallel averages
        gradients over the processes. The gradients of a function of the means are then exact,
        even if the function is not linear.
        """
        if self.alone:
            return list(values)
        total = torch.stack([value.detach().double() for value in values])
        dist.all_reduce(total)
        means = (total / self.count).unbind()
        pairs = zip(values, means, strict=True)
        # own − own is exactly zero; only its gradient remains.
        return [mean.to(own) + (own - own.detach()) for own, mean in pairs]

    def same(self, digest: str) -> bool:
        """Whether all processes have this digest."""
        if self.alone:
            return True
        digests: list[str] = [""] * self.count
        dist.all_gather_object(digests, digest)
        return len(set(digests)) == 1

    def from_first(self, make: Callable[[Callable[[], None]], T]) -> T:
        """Let the first process make a value, and send it to all.

        Arguments:
            make: Makes the value. It calls its argument from time to time, so that the waiting
                processes do not consider the first one dead.
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
    """The number of processes that `torchrun` started; 1 without it."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(os.environ):
        return 1
    size = os.environ["WORLD_SIZE"]
    if not size.isdecimal():
        raise WorkerError(f"the variable WORLD_SIZE, of torchrun, is {size!r}, not a number")
    return int(size)


def local_rank() -> int:
    """The rank of this process on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) if world_size() > 1 else 0


def is_first() -> bool:
    """Whether this process writes files and messages."""
    return world_size() == 1 or os.environ.get("RANK") == "0"


@contextmanager
def joined(device: torch.device) -> Iterator[Ranks]:
    """The group of processes that `torchrun` started, until all of them have finished.

    Without torchrun, or with one process, no group is formed. If another process ends early, this
    one does not wait for it: `torchrun` or the broken connection ends it.
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
        raise WorkerError(f"the processes of torchrun cannot connect: {reason}") from error
    ranks = Ranks(dist.get_rank(), dist.get_world_size())
    try:
        yield ranks
        dist.barrier()  # no process leaves while another still communicates with it
    except RuntimeError as error:
        if not _is_lost_connection(error):
            raise
        raise WorkerError(
            f"process {ranks.rank} of {ranks.count} lost the others: one of them ended, or did not "
            "answer; "
            + by_caller("the same command with --resume", "the same call with resume=True")
            + " continues after the last whole epoch"
        ) from error
    finally:
        dist.destroy_process_group()


def _is_lost_connection(error: RuntimeError) -> bool:
    # gloo raises a bare RuntimeError that names its source file.
    return isinstance(error, dist.DistError) or "gloo" in str(error).lower()
