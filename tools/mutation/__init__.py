"""Small faults in the source, one at a time, that tests must notice: `make mutation`."""
