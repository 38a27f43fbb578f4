"""What the controller decides: each decision is records and an answer."""
