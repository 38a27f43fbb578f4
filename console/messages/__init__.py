"""What lies in a topic: pages, search, live tail, and records that are written."""
