"""The suites that are not part of `make test`: `python -m tests.long`, or `make test-long`."""
