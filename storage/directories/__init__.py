"""The log directories: which logs are where, loading, closing, checkpoints, failures."""
