"""Bytes to messages and back: Kafka's wire protocol and record format, without I/O."""
