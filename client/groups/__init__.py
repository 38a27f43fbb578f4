"""Groups of a cluster, their members and committed offsets."""
