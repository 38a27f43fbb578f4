"""A release up to the upload, which the owner does: `python -m tests.release` (`make release`)."""
