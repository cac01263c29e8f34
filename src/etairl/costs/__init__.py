"""Families of cost functions: what the cost player may choose from."""
