"""Certificates around learned priors."""
