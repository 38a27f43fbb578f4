"""Every command of `ottla` against Ottla and Apache Kafka, beside Kafka's own tools."""
