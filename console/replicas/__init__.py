"""The map of replicas: the brokers, leader and ISR of each partition, followed in time."""
