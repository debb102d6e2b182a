"""Requests and responses as bytes: one typed message class per API over all its versions.

`schemas/<api>.fields` declares the fields (`schema` reads that language), `generator` writes
`messages/<api>.py` from it, whose functions call `decoding` and `encoding`. `message` has their base classes,
`headers` the headers before them, `apis` the table of all APIs, `versioned` the form of stored messages,
`stepwise` decodes large requests in steps, and `explain` describes what is wrong with malformed bytes.

This package must not know what a request means, and does no I/O: it converts bytes to objects and back.
"""
