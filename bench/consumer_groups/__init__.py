"""Consumer groups that the broker assigns (KIP-848), beside Apache Kafka: see `scenarios`."""
