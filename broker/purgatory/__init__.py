"""Requests that wait: by key and by deadline."""
