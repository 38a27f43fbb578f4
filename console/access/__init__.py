"""Users, ACLs, delegation tokens and quotas in the console."""
