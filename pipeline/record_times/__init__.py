"""Records of any time: what a table has of it, and how they are read."""
