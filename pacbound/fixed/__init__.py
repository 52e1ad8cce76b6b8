"""Certificates of predictors that exist already: networks, estimators, files of predictions."""
