"""One partition's log: segments, indexes, appends, reads, recovery."""
