"""Python imports this module first of all where its folder is on PYTHONPATH."""

import linux_names

linux_names.take_away()
