"""Training: objectives, schedules, averaging, checkpoints and the loop."""
