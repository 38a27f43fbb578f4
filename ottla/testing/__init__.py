"""For the tests of other projects: a broker as a process of its own, and pytest's fixtures for it.

It runs in their processes, so it imports the standard library and pytest alone.
"""
