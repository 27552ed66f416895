"""MCP over the wire: transcripts, a spawned server, the official client."""
