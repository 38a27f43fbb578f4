"""Share groups: the delivery of a partition's records to the members of a group, and its state."""
