"""A small client of Ottla and of Apache Kafka: what the commands read and write by."""
