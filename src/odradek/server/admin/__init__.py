"""What a person or a monitoring system reads of a broker over loopback HTTP."""
