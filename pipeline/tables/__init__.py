"""What a stream or a load keeps beside Kafka: tables, checkpoints and whose they are."""
