"""The nodes of an `ottla cluster` that runs, led from another shell."""
