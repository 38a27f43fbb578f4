"""The event loop: its scheduler, and how long its turns are."""
