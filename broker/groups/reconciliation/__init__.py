"""How members get what their group gives out, whatever that is, so that nothing is held twice."""
