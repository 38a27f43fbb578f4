"""TLS: stores, contexts, the names in certificates."""
