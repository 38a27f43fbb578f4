"""Plug-ins in Python: how they are loaded, asked, and kept from holding up the node."""
