"""Client quotas: the usage of each client of a node, and its throttle time when over quota."""
