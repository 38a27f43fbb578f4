"""The writers of protocol/messages from Kafka's definitions; `protocol.generate` runs them."""
