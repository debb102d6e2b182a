"""Consumer, producer and admin clients."""
