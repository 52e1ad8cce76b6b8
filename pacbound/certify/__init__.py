"""Certification: the budget, the KL in outward-rounded numbers, the risk, and the certificate."""
