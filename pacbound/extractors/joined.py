"""An extractor and a network for its features as one network for raw inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pacbound.errors import ModuleError
from pacbound.networks.digests import module_digest

__all__ = ["WithExtractor"]


class WithExtractor(nn.Module):
    """The extractor, then the network: what a certificate on features covers, for raw inputs.

    Arguments:
        extractor: The extractor that computed the features.
        network: The certified network, from features to logits.
        sha256: The extractor's digest, from the file of features or from the certificate.
    """

    def __init__(self, extractor: nn.Module, network: nn.Module, sha256: str) -> None:
        super().__init__()
        found = module_digest(extractor)
        if found != sha256:
            raise ModuleError(
                "this is not the extractor of the features: its digest begins "
                f"{found[:12]}, not {sha256[:12]}"
            )
        self.extractor, self.network = extractor.eval(), network.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        """The logits of raw inputs, as the data set before extraction has them."""
        floats = inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs
        logits: Tensor = self.network(self.extractor(floats).float())
        return logits
