"""Produce: the handler, its stations, and the answers prepared for a producer's next request."""
