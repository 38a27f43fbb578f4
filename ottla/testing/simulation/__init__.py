"""Scenarios of requests and faults on a simulated cluster, in virtual time: see `run.simulate`."""
