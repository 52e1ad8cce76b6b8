"""The test error of a plain linear head on features, to see what an extractor is worth.

    python examples/linear_head.py cifar-10-lite2.npz

Columns are scaled by the test inputs, which no certificate counts. Nothing is certified here.
"""

from __future__ import annotations

import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pacbound.data import load

EPOCHS, BATCH, RATE, DECAY = 6, 250, 0.002, 0.05


def main(path: str) -> None:
    """Train with AdamW and a linear schedule, and print the error after every epoch."""
    data = load(path)
    assert data.test_inputs is not None and data.test_labels is not None, "there are no test inputs"
    inputs, labels = torch.from_numpy(data.train_inputs), torch.from_numpy(data.train_labels)
    others, answers = torch.from_numpy(data.test_inputs), torch.from_numpy(data.test_labels)
    mean, deviation = others.mean(0), others.std(0) + 1e-6
    inputs, others = (inputs - mean) / deviation, (others - mean) / deviation
    torch.manual_seed(0)
    head = nn.Linear(inputs.shape[1], data.classes)
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-data.m // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    start = time.monotonic()
    for epoch in range(EPOCHS):
        for chosen in torch.randperm(data.m).split(BATCH):
            loss = functional.cross_entropy(head(inputs[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        error = float((head(others).argmax(1) != answers).float().mean())
        print(f"epoch {epoch + 1}: test error {error:.2%}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1])
