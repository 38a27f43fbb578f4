"""The data that a stream or a load keeps outside Kafka: tables, checkpoints and their owners."""
