"""What is said where a configuration is refused, for whoever wrote it."""
