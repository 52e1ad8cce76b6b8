"""Which Gaussians a posterior can be: KL(q‖p) minimised for targets p that are drawn at random."""

from __future__ import annotations

from pacbound.experiments.simulation.outcome import Simulation
from pacbound.experiments.simulation.run import simulate
from pacbound.experiments.simulation.shapes import FIGURE

__all__ = ["FIGURE", "Simulation", "simulate"]
