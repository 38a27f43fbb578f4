"""A simulator of a whole cluster in virtual time, driven by a seed."""
