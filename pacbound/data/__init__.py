"""Data sets: named ones, downloaded and verified, and a user's own `.npz` files."""

from __future__ import annotations

from pacbound.data.catalogue import catalogue, register
from pacbound.data.dataset import Dataset, as_floats
from pacbound.data.loading import add, fetch, load

__all__ = ["Dataset", "add", "as_floats", "catalogue", "fetch", "load", "register"]
