"""What is read means: fields of bytes, what retention and compaction do. Pure."""
