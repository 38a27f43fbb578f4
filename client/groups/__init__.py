"""Groups, their members and committed offsets."""
