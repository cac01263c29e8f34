"""How close two behaviours are, and what demonstrations hold."""
