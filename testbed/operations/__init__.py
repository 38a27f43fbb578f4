"""What can be asked of a broker under test; each file registers its operations."""
