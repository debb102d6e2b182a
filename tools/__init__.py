"""Maintains the repository: pages that are generated from the code, and checks of them."""
