"""The round trips of an innocent client, and the node's memory, beside excessive loads."""
