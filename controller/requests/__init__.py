"""The controller's APIs: they turn requests into decisions, and decisions into responses."""
