"""Share groups: members, epochs, and the topics whose state is initialized (KIP-932)."""
