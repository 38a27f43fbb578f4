"""The replicas that a broker hosts: leaders, followers, fetch sessions and log directories."""
