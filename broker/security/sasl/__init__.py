"""SASL: the mechanisms, and the exchange of requests that carries their tokens."""
