"""Networks, the prior's centre, and the conversion of a plain network to a stochastic one."""
