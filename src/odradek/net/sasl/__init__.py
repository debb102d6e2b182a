"""SASL on the client's side, without I/O: how a client proves to a broker who it is, and the broker to the
client.

- `exchange`: what an exchange asks of those that run it, and how it fails.
- `plain`, `scram`, `oauthbearer`: the exchanges, one file for each mechanism.
- `credentials`: what a client authenticates with; it never shows secrets.
- `authentication`: the requests in which an exchange is packed, with the choice of the mechanism (KIP-152,
KIP-368).
"""
