"""Compaction: which log is cleaned next, and how (log cleaner)."""
