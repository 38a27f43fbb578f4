"""The authentication of connections: TLS and SASL, the server's half and the client's half."""
