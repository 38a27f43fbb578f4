"""The commands about a migration from Apache Kafka."""
