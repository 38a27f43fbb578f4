"""The metadata quorum and its decisions (KRaft)."""
