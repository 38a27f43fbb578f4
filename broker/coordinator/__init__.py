"""A coordinator's replicated state: its log, its runtime, the partitions it leads."""
