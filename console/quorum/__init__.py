"""The metadata quorum in the console: voters, epochs, records, features."""
