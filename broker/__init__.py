"""The broker: network, APIs, groups, replication and the command line."""
