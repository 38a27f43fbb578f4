"""The records of segments: from their bytes to columns of Arrow."""
