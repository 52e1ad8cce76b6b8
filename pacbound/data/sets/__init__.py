"""The named data sets, one file each: it defines `ENTRY`, or `ENTRIES` for a family of them."""
