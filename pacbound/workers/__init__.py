"""Back ends for independent chunks of work: this process, local processes, or a Dask cluster."""

# Nothing is imported here: showing a table needs child processes, but not torch.
