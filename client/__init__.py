"""A client of any Kafka cluster: its requests and the connections to brokers; no terminal."""
