"""Groups whose members are assigned by the broker (KIP-848)."""
