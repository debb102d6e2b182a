"""SASL PLAIN (RFC 4616): the user's name and password in one message. Only TLS keeps them from others."""

from odradek.net.sasl.exchange import Exchange, Send


def plain(username: str, password: str) -> Exchange:
    """Ask to be the user as which the password authenticates."""
    yield Send(b"\0%b\0%b" % (username.encode(), password.encode()))
