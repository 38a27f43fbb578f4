"""Brokers for tests: `ottla.testing` beside librdkafka's mock cluster and kfake."""
