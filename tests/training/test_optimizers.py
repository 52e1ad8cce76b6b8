"""The optimisers of learned priors, against torch's own and against the singular values."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from pacbound.recipes.settings import PRIOR_OPTIMIZERS as NAMES
from pacbound.training.optimizers import PRIOR_OPTIMIZERS, Muon, orthogonalised
from pacbound.training.saved_state import restore_moments


def _network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 5, 3), nn.GELU(), nn.Flatten(), nn.Linear(20, 7), nn.GELU(), nn.Linear(7, 3)
    )


def _descend(network: nn.Module, optimizers: list[torch.optim.Optimizer], steps: int) -> None:
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        inputs = torch.randn(10, 2, 4, 4, generator=generator)
        for optimizer in optimizers:
            optimizer.zero_grad()
        network(inputs).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()


def test_the_settings_name_every_optimizer() -> None:
    assert set(NAMES) == set(PRIOR_OPTIMIZERS)


@pytest.mark.parametrize("shape", [(8, 8), (5, 40), (40, 5), (1, 9)])
def test_singular_values_become_about_one_and_vectors_stay(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0)).double()
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    found = left.T @ orthogonalised(matrix) @ right.T
    large = values > values.max() / 30
    assert ((found.diagonal()[large] > 0.6) & (found.diagonal()[large] < 1.3)).all()
    assert (found - found.diagonal().diag()).abs().max() < 1e-9


def test_a_gradient_of_zero_changes_nothing() -> None:
    assert not orthogonalised(torch.zeros(3, 4)).any()


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
def test_it_is_torchs_muon_for_hidden_matrices_and_torchs_adam_for_the_rest() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(32, 20), nn.GELU(), nn.Linear(20, 6))
    network.append(nn.GELU()).append(nn.Linear(6, 3))
    before, other = copy.deepcopy(network), copy.deepcopy(network)
    mine = Muon(network.parameters(), lr=0.02, weight_decay=0.1)
    hidden = [other[1].weight, other[3].weight]
    rest = [other[1].bias, other[3].bias, *other[5].parameters()]
    theirs = torch.optim.Muon(
        hidden,
        lr=0.02,
        weight_decay=0.1,
        momentum=0.9,
        nesterov=True,
        adjust_lr_fn="match_rms_adamw",
    )
    _descend(network, [mine], 3)
    _descend(other, [theirs, torch.optim.Adam(rest, lr=0.02)], 3)
    for name, value in network.named_parameters():
        moved = (value - before.get_parameter(name)).norm()
        # torch iterates in bfloat16, with 8 bits
        assert (value - other.get_parameter(name)).norm() < 0.1 * moved, name


def test_a_kernel_is_a_matrix_with_a_row_for_each_output() -> None:
    network = _network()
    before = network[0].weight.detach().clone()
    _descend(network, [Muon(network.parameters(), lr=0.1)], 1)
    update = (network[0].weight - before).flatten(1)
    values = torch.linalg.svdvals(update / (0.1 * 0.2 * 18**0.5))
    assert ((values > 0.6) & (values < 1.3)).all()


def test_it_continues_from_its_saved_state() -> None:
    whole, halves = _network(), _network()
    _descend(whole, [Muon(whole.parameters())], 1)
    first = Muon(halves.parameters())
    _descend(halves, [first], 1)
    second = Muon(halves.parameters())
    restore_moments(second, first.state_dict())
    optimizer = Muon(whole.parameters())
    optimizer.load_state_dict(first.state_dict())
    _descend(whole, [optimizer], 2)
    _descend(halves, [second], 2)
    for mine, theirs in zip(halves.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
