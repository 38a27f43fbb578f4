"""What is done before there is a node: its folders are made or opened, its voters found."""
