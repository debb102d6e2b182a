"""Turns the field tables of `odradek.wire.schemas` into `odradek.wire.messages`; for development only."""
