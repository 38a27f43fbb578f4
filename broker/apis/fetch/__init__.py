"""Fetch: the handler, and the shortcuts for readers that repeat their requests."""
