"""Records of a topic become typed columns; those that do not fit are kept, with the reason."""
