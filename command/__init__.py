"""The command `ottla`: its command line and output, and a cluster on one machine."""
