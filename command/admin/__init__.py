"""Commands that ask a running cluster something or change it, and what they share."""
