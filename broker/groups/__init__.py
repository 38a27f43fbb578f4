"""Groups of both protocols: the coordinator, its state machines, and committed offsets."""
