"""Settings of topics, brokers and groups, and quotas of clients."""
