"""The members of a cluster: voters of its quorum, brokers with their replicas; changes of both."""
