"""Requests and responses as bytes: one typed message class per API over all its versions.

The way from a field to its bytes: `schemas/<api>.fields` says which fields there are (`schema` reads that
language), `generator` writes `messages/<api>.py` from it, whose functions call `decoding` and `encoding`.
`message` is what all of them are, `headers` what stands before them, `apis` the table of them all,
`versioned` the form in which they are stored. `explain` finds the words for bytes that were not what they
claimed to be.

This package knows nothing of what a request means, and does no I/O: bytes in, objects out, and back.
"""
