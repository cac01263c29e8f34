"""The paper: its studies, its claims, and what became of them."""
