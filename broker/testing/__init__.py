"""A broker as a process of its own, and the pytest plugin that starts one."""
