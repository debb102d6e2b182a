from odradek.wire.versions import Versions


def test_both_ends_belong_to_a_range() -> None:
    versions = Versions(3, 5)
    assert [version in versions for version in (2, 3, 5, 6)] == [False, True, True, False]
    assert list(versions.span()) == [3, 4, 5]
    names: list[object] = ["3"]
    assert names[0] not in versions
