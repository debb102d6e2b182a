from odradek.base.chance import SeededChance


def test_equal_seeds_give_equal_sequences() -> None:
    one, other = SeededChance(7), SeededChance(7)
    assert [one.below(10) for _ in range(50)] == [other.below(10) for _ in range(50)]
    assert one.uuid() == other.uuid()
    assert one.fraction() == other.fraction()


def test_numbers_stay_below_their_bound_and_ids_are_version_4() -> None:
    chance = SeededChance()
    assert {chance.below(3) for _ in range(200)} == {0, 1, 2}
    assert chance.uuid().version == 4
