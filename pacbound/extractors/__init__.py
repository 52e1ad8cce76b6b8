"""Frozen extractors, and the features that they compute once.

An extractor is an `nn.Module` that was trained elsewhere. A certificate on its features is valid
only if it saw neither the inputs nor the labels of the counted examples.
"""

from __future__ import annotations

from pacbound.extractors.features import Extracted, extract, remove_chunks, save_features
from pacbound.extractors.joined import WithExtractor

__all__ = ["Extracted", "WithExtractor", "extract", "remove_chunks", "save_features"]
