"""Kafka's wire protocol and record format: bytes to messages and back, without I/O."""
