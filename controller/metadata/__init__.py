"""The metadata: its records, their images and deltas, snapshots and versions."""
