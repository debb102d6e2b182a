"""`./dev why`: clients are brought into stuck states of a simulated cluster, and `why()` names the cause."""
