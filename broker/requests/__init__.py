"""The way from a request's bytes to the API that answers it, and back."""
