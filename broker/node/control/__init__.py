"""The traffic between a node and the active controller, on whichever node that is."""
