"""The named data sets, one file each. Every file here that defines `ENTRY` is listed."""
