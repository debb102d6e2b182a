"""`@value`: plain data, equal by its fields."""

from dataclasses import field, fields, replace

from odradek.base.values import value


@value
class Moved:
    """Has fields with and without defaults."""

    topic: str
    to: int = 0
    through: tuple[int, ...] = field(default=(1,))


@value
class Stayed:
    """Has the fields of another one."""

    topic: str
    to: int = 0
    through: tuple[int, ...] = field(default=(1,))


@value
class Ended:
    """Has no fields."""


@value
class Named:
    """Has one field."""

    name: str


@value
class Login:
    name: str
    password: str = field(repr=False)


def test_values_of_one_class_are_equal_and_hashed_by_their_fields() -> None:
    assert Moved("a", 3) == Moved("a", 3)
    assert hash(Moved("a", 3)) == hash(Moved("a", 3))
    assert Moved("a", 3) != Moved("a", 4)
    assert len({Moved("a"), Moved("a"), Moved("b"), Ended(), Ended(), Named("x"), Named("x")}) == 4
    assert Ended() == Ended()
    assert Named("x") != Named("y")


def test_values_of_two_classes_are_never_equal() -> None:
    assert Moved("a") != Stayed("a")  # type: ignore[comparison-overlap]
    assert Named("x") != "x"  # type: ignore[comparison-overlap]
    assert Ended() != ()  # type: ignore[comparison-overlap]


def test_a_value_is_a_dataclass_with_slots() -> None:
    moved = Moved("a", 3)
    assert replace(moved, to=4) == Moved("a", 4)
    assert [one.name for one in fields(moved)] == ["topic", "to", "through"]
    assert not hasattr(moved, "__dict__")
    match moved:
        case Moved(topic, to=number):
            assert (topic, number) == ("a", 3)


def test_a_value_is_printed_with_its_fields() -> None:
    assert repr(Moved("a", 3)) == "Moved(topic='a', to=3, through=(1,))"
    assert repr(Ended()) == "Ended()"


def test_a_field_that_is_not_to_be_printed_is_not() -> None:
    assert repr(Login("ada", "secret")) == "Login(name='ada')"
