"""Who may do what: ACLs and users of SCRAM."""
