"""The way of members to their target assignments, so that no two hold the same partition."""
