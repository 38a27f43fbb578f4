"""Limits on connections, their rate and the memory of their requests."""
