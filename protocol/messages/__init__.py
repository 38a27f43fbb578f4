"""Generated message classes, one module an API. Written by protocol/generate.py: do not edit."""
