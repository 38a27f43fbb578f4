"""The command `ottla`: what a person types, what it shows, and a cluster on one machine."""
