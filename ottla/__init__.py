"""Ottla, a Kafka broker in Python: the one name that an installation puts on the import path.

Here are the launcher (`ottla.__main__`) and what other people's processes import (`ottla.testing`).
It imports the standard library and pytest alone, never the server, which has its own processes.
"""
