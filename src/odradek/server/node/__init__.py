"""The synchronous parts of a broker.

docs/architecture.md says where to look for what ("The rooms of `server`").
"""
