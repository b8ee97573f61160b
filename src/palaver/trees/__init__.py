"""Derivations as values, and what spec authors see of them."""
