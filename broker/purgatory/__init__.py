"""Requests that wait for a change, by key, with deadlines."""
