"""The broker: what serves Kafka's protocol, from the socket to the partition."""
