"""The paper's experiments and this project's results, one folder each.

Nothing in the rest of the package imports from here.
"""
