"""The meaning of files' contents: fields of bytes, and forecasts of retention and compaction."""
