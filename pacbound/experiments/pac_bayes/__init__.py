"""PAC-Bayes bounds: the paper's Table 3 and the published certificates."""
