"""A node of a cluster, with the parts of its roles: broker, controller, or both."""
