"""Who gets into this node, how this node gets into others, and who judges what clients ask."""
