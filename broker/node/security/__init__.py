"""The security of a node: logins to it, its own logins to other nodes, and authorization."""
