"""The decisions of the controller: each gives records and a reply."""
