"""The certificate: its format, its JSON Schema, and the checker that anybody can run."""
