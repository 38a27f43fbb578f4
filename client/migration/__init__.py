"""The check of a cluster whose nodes are to be replaced by nodes of Ottla, one at a time."""
