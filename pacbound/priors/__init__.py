"""What a posterior is measured against, and which examples a prior may learn from."""
