"""The partitions of data folders, and the records of each that a consumer may see."""
