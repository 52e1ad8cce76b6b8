"""Which Gaussians a posterior can be: KL(q‖p) minimised for targets p that are drawn at random."""

from __future__ import annotations

from pacbound.simulation.outcome import Simulation
from pacbound.simulation.run import simulate
from pacbound.simulation.shapes import FIGURE

__all__ = ["FIGURE", "Simulation", "simulate"]
