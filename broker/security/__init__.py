"""Who is at the other end of a connection: TLS and SASL, both halves."""
