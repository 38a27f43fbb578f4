"""One file an API, or a family of APIs that share their rules."""
