"""What the repository needs to look after itself: pages that are generated from the code."""
