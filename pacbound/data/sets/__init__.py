"""The named data sets, one file each. A file here that defines `ENTRY` is in the catalogue."""
