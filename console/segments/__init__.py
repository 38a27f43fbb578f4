"""Segments on disk: the partitions in log directories of this machine, down to single bytes."""
