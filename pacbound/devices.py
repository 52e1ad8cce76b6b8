"""The device and number type of a computation."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from pacbound.errors import SettingError, unknown_name

__all__ = ["CPU", "DEVICES", "DTYPES", "Arithmetic", "available", "device_named"]

DEVICES = ("cpu", "cuda", "mps")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Arithmetic:
    """A device, and the number type that training uses there.

    Neither changes a run beyond rounding, because noise is always drawn on the CPU. Checkpoints
    are stored as float32 on the CPU.
    """

    device: torch.device = torch.device("cpu")  # noqa: RUF009 - it is immutable
    dtype: torch.dtype = torch.float32

    @classmethod
    def named(cls, device: str, dtype: str, local_rank: int = 0) -> Arithmetic:
        """The choice with these names. One line says what is not available."""
        if dtype not in DTYPES:
            raise unknown_name("dtype", dtype, DTYPES)
        if device == "mps" and dtype == "float64":
            raise SettingError("mps has no float64: use dtype float32, or device cpu")
        return cls(device_named(device, local_rank), DTYPES[dtype])


CPU = Arithmetic()


def available() -> list[str]:
    """The devices of this machine."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [name for name in DEVICES if there.get(name, True)]


def device_named(name: str, local_rank: int = 0) -> torch.device:
    """An available device, set to true float32.

    Arguments:
        local_rank: The index of this process on the machine; it selects the GPU.
    """
    if name.lower() == "gpu":
        raise SettingError("unknown device 'gpu'; a GPU is cuda (NVIDIA, AMD) or mps (Apple)")
    if name not in DEVICES:
        raise unknown_name("device", name, DEVICES)
    if name not in available():
        raise SettingError(f"there is no device {name} here, only {', '.join(available())}")
    if name != "cuda":
        return torch.device(name)
    if local_rank >= torch.cuda.device_count():
        raise SettingError(
            f"process {local_rank} of this machine has no GPU: there are "
            f"{torch.cuda.device_count()}; start as many processes"
        )
    # By default, convolutions round their inputs to 10 bits (TF32). A certificate treats only ties
    # within float32 rounding as errors.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
