"""Files of partitions, read where they lie: names, indexes, headers; never a whole segment."""
