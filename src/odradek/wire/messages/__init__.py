"""The messages, one module per API; generated, do not edit."""
