"""Configs in the console: their values, sources and documentation, and changes of them."""
