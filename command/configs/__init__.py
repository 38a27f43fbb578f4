"""`ottla config` and `ottla quota`: settings of a running cluster, and quotas of clients."""
