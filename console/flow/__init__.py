"""How a record flows: what local brokers keep of it, and one record that is sent to be followed."""
