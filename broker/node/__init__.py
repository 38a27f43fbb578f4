"""One node put together from its parts: broker, controller or both."""
