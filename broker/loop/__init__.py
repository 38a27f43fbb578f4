"""The event loop: its scheduler, and the measurement of its turns."""
