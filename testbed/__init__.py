"""A broker for other people's tests: forked from a host, and led over a control channel."""
