"""The steps before a node is created: its folders are formatted or opened, its voters found."""
