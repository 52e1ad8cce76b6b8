"""Inequalities, tail limits and the prior's grid: formulas only, one per file."""
