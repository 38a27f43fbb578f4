"""The terminal of a command: what it can draw, and the signals that end a command."""
