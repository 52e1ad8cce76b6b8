"""The paper's variational inference: test error, likelihood and calibration."""
