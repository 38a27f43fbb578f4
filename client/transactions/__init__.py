"""Transactions of a cluster, producers of partitions, and the end of a hanging transaction."""
