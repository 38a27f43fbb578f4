"""Rates of topics and groups, from two samples of a cluster."""
