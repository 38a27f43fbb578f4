"""SASL: mechanisms as cores, and the conversation around them."""
