"""A whole cluster in virtual time, under a seed."""
