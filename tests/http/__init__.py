"""The HTTP door, from bytes to pages."""
