"""`ottla completion`: what shells complete, and how a name is put on their lines."""

VARIABLE = "_OTTLA_COMPLETE"
"""In the environment of `ottla` where a shell asks."""
