"""What a node shows at /metrics: a file a subject, named as Kafka names its MBeans."""
