"""Changes of a running `ottla cluster`: nodes that join, and nodes that leave."""
