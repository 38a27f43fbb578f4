"""`ottla produce` and `ottla consume`: records from and to files, pipes and terminals."""
