"""`ottla config` and `ottla quota`: settings of a cluster that runs, and limits of clients."""
