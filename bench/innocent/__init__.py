"""What one innocent client notices of others that ask too much: its round trips, the memory."""
