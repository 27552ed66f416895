"""The builtins that need nothing from outside a program, a file a group of the reference."""
