"""The certificate: its format, its JSON Schema, and the checker that anyone can run."""
