"""Readers of partitions' files: names, indexes and headers, but never a whole segment."""
