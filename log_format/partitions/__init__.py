"""From folders to what a consumer may see of each partition."""
