"""Leader and follower replicas, and the coordinators' view of their logs."""
