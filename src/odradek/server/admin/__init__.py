"""The admin listener: people and monitoring systems read the broker's state over loopback HTTP."""
