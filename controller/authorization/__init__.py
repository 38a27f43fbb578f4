"""Who may do what, by the access control entries in the metadata."""
