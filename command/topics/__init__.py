"""`ottla topic`: topics listed, described, created, altered and deleted."""
