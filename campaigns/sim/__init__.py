"""`./dev sim`: trials of a simulated cluster, seed by seed."""
