"""One run, from settings to a result."""
