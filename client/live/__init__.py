"""Rates of topics and groups, from two looks at a cluster."""
