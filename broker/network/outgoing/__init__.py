"""Connections that this process opens to other nodes."""
