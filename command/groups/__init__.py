"""`ottla group`: members, offsets and lag of groups, and moving a group to other offsets."""
