"""Writes the modules of protocol/messages from Kafka's definitions; `protocol.generate` runs it."""
