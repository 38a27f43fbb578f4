"""Plug-ins in Python: loading them, calling them, and limits that protect the node."""
