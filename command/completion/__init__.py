"""`ottla completion`: the names that shells complete, and how names are quoted on their lines."""

VARIABLE = "_OTTLA_COMPLETE"
"""The environment variable by which a shell asks `ottla` for completions."""
