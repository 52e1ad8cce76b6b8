"""What a posterior is measured against, and which examples a prior may learn from."""

from pacbound.priors.declared import Initialised, Learned

__all__ = ["Initialised", "Learned"]
