"""The jobs of `ottla-pipeline`, a file each."""
