"""How much each client may take of a node, and how long one that took more has to wait."""
