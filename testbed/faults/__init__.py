"""The faults that a test asks for: which requests they apply to, and how they change them."""
