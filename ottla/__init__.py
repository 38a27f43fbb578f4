"""Ottla, a Kafka broker in Python: the only package that an installation puts on the import path.

It has the launcher (`ottla.__main__`), the classes that plug-ins extend (`ottla.plugins`), and the
helpers that tests of other projects import (`ottla.testing`). It imports only the standard library
and pytest, and never the server, which runs in processes of its own.
"""
