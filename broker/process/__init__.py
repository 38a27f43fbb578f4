"""The process around a node: event loop, signals, logging, metrics endpoint, cleaner process."""
