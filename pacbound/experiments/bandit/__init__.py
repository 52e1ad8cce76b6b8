"""Contextual bandits: problems, agents, and runs of agents on problems."""
