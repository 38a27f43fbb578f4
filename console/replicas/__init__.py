"""Where the replicas are, and which are in sync: a map that follows the cluster."""
