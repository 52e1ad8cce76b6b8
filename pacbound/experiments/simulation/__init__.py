"""How well posteriors fit Gaussians: KL(q‖p) minimised for random targets p."""

from __future__ import annotations

from pacbound.experiments.simulation.outcome import Simulation
from pacbound.experiments.simulation.run import simulate
from pacbound.experiments.simulation.shapes import FIGURE

__all__ = ["FIGURE", "Simulation", "simulate"]
