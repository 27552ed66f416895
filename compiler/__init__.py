"""Turns Quillo source text into a Module, or into diagnostics."""
