"""What every client of Kafka does, without I/O: requests, leaders, coordinators, retries."""
