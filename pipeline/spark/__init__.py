"""Spark for the jobs: Java, the session, the Kafka source, and the connection to the cluster."""
