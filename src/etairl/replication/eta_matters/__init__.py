"""When does a weighting matter? Exact answers on small worlds."""
