"""Stock clients and Kafka's tools over TLS and SASL, against a real broker process."""
