"""From a request's bytes to the API that answers it."""
