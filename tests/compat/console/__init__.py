"""The console in front of a broker, as HTTP and in a real Chromium."""
