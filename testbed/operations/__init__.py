"""The operations on a broker under test; each module registers its own."""
