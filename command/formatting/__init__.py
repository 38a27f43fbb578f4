"""The command `ottla format`, and the texts of its options."""
