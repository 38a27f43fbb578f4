"""What is durable of consumer groups, and how the log holds it."""
