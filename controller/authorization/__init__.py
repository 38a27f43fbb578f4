"""Authorization of requests by the access control entries in the metadata."""
