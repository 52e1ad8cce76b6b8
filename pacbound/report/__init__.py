"""Explanations, tables and plots of certificates and training runs."""
