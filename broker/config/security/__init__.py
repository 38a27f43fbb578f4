"""Who may connect to a listener, and how this node connects to others, from Kafka's keys."""
