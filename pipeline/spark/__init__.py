"""Spark as the jobs have it: Java, the session, its Kafka source, the way to the cluster."""
