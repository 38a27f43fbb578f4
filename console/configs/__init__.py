"""Configs in the console: values, where they come from, what they mean; changed on request."""
