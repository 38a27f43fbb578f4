"""Records: read, decoded, encoded, batched and written."""
