"""The frames of connections: their limits, their memory, and the messages in them."""
