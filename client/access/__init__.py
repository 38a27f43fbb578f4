"""Access to a cluster: ACLs and SCRAM users."""
