"""TLS: keystores and truststores, contexts, and the names in certificates."""
