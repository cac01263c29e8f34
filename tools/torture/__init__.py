"""Damaged and hostile files for every reader: `make torture`."""
