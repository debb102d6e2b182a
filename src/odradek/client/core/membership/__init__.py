"""A consumer's membership in its group, without I/O: both protocols behind one protocol class.

- `member`: what the consumer needs of either.
- `consumer_member`: KIP-848: the broker assigns.
- `classic_member`: one of the members assigns.
- `classic_share`: what this member does as the leader of a classic group.
"""
