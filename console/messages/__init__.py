"""The records of topics: pages, search, Live, downloads, and new records."""
