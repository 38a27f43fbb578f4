"""Verification of transactional appends with the coordinator (KIP-890)."""
