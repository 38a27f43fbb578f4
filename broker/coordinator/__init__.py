"""The replicated state of a coordinator: its log, its runtime, the partitions that it leads."""
