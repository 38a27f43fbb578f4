"""Segments on disk: what lies in the folders of the nodes of this machine, down to single bytes."""
