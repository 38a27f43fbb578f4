"""The rates that stock clients reach under a quota; `python -m tests.compat.quota_rates`."""
