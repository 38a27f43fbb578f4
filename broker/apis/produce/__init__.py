"""Produce: how it is handled, and what is prepared for the next one."""
