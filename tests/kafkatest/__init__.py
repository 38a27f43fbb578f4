"""Apache Kafka's own system tests, run against Ottla or Apache Kafka on one machine."""
