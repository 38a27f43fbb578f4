"""`ottla group`: who reads what, how far behind, and moving a group to other offsets."""
