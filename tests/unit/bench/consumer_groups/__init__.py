"""Tests of bench/consumer_groups."""
