"""The paper's experiments and this project's records, one folder each.

Nothing in the rest of the package imports from here.
"""
