"""ShareFetch and ShareAcknowledge: records for the members of share groups (KIP-932)."""
