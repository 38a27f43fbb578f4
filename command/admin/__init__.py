"""Commands that administer a running cluster (users, ACLs, profiles), and options of commands."""
