"""The process of a node: event loop, signals, logging, metrics endpoint, cleaner process."""
