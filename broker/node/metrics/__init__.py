"""The metrics of a node for /metrics, a module for each subject, named like Kafka's MBeans."""
