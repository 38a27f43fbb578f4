"""How the cluster is, and what goes on in it now."""
