"""The files that bandit problems are made from, one file here per problem.

A file here that defines `ENTRY` is in the catalogue of raw files.
"""
