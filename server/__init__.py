"""The doors: MCP over stdio, the database, questions, limits. Only this package and `cli` do I/O."""

VERSION = "0.1.0"  # of Quillo; as in pyproject.toml
