"""The texts that explain a rejected configuration to its author."""
