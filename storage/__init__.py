"""One node's logs on disk, in Kafka's own format."""
