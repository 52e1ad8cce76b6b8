"""Networks, the prior's centre, and how a plain network becomes stochastic."""
