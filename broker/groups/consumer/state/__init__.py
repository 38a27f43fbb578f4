"""The durable state of consumer groups, and its records in the log."""
