"""How a node and the active controller reach each other, wherever that is."""
