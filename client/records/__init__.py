"""Records that a client reads, decodes, encodes, batches and writes."""
