"""Tests of bench/testing."""
