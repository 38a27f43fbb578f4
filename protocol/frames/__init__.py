"""Frames: their bounds, their memory, and the messages in them."""
