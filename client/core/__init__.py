"""The logic of a Kafka client without I/O: requests, leaders, coordinators, retries."""
