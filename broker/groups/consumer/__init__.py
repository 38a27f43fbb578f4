"""Consumer groups, whose assignments the broker computes (KIP-848)."""
