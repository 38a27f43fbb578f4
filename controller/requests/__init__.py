"""The controller's APIs: requests made decisions, decisions made answers."""
