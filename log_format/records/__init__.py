"""From the bytes of a segment to columns of Arrow."""
