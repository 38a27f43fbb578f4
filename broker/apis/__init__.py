"""The APIs that a broker serves: one file for each API, or for APIs that share their rules."""
