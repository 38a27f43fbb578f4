"""The security of a node's listeners, and of its own connections, from Kafka's keys."""
