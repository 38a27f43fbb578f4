"""Dead letters (KIP-1191): records that a share group gives up, written to a topic of its own."""
