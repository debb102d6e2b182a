"""Names whose modules are imported when they are first used."""

import pytest

from odradek.base.lazy_names import lazy_names


def test_a_name_is_that_of_its_module() -> None:
    find = lazy_names("here", {"OrderedDict": "collections"})
    from collections import OrderedDict

    assert find("OrderedDict") is OrderedDict


def test_a_name_that_is_not_there_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'here' has no attribute 'Other'"):
        lazy_names("here", {})("Other")
