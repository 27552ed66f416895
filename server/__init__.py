"""The doors: MCP over stdio, the database, questions, limits. Only this package and `cli` do I/O."""
