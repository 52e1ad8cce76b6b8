"""Contextual bandits: problems, agents, and the play of one on the other."""
