"""The denial table: what each API answers to one who may not, beside Apache Kafka."""
