"""The steps of members to their target assignments; no two ever hold the same partition."""
