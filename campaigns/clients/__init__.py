"""`./dev clients`: our own clients in simulated clusters under mishaps, checked from the clients' side."""
