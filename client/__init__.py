"""A client of any Kafka cluster: questions, and the brokers that answer them; no terminal."""
