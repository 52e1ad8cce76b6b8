"""The networks by name. A new network is one new file and one line here."""

from __future__ import annotations

from pacbound.errors import unknown_name
from pacbound.networks.given import GIVEN
from pacbound.networks.lenet import LENET
from pacbound.networks.mlp import MLP
from pacbound.networks.network import Network
from pacbound.networks.resnet import RESNET
from pacbound.networks.vgg import VGG

__all__ = ["NETWORKS", "network_named", "register"]

NETWORKS: dict[str, Network] = {}


def register(network: Network) -> None:
    """Register a network by its name."""
    NETWORKS[network.name] = network


def network_named(name: str) -> Network:
    """The network of this name."""
    if name not in NETWORKS:
        raise unknown_name("network", name, NETWORKS)
    return NETWORKS[name]


register(MLP)
register(LENET)
register(RESNET)
register(VGG)
register(GIVEN)
