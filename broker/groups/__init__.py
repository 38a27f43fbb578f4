"""Consumer groups: the coordinator, its state machine and its offsets."""
