"""The commands `quillo` and `qvm`: they read flags, call, and print."""
