"""The posterior predictive of rotated digits."""
