"""Brokers for the tests of other projects: forked from a host, led over a control channel."""
