"""Where independent chunks of work are done: here, in local processes, or on a Dask cluster."""

# Nothing is imported here: looking at a table takes child processes, but no torch.
