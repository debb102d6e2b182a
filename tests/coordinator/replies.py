"""Where the answers of a coordinator will be."""

from typing import Generic, Protocol, TypeVar

from odradek.base.error_codes import ErrorCode

A = TypeVar("A")


class Coded(Protocol):
    """An answer with an error code of its own."""

    @property
    def error_code(self) -> int: ...


C = TypeVar("C", bound=Coded)


class Reply(Generic[A]):
    """What a request was answered, so far; to be given as its callback."""

    def __init__(self) -> None:
        self.answers: list[A] = []

    def __call__(self, answer: A) -> None:
        self.answers.append(answer)

    @property
    def is_answered(self) -> bool:
        return bool(self.answers)

    @property
    def answer(self) -> A:
        assert len(self.answers) == 1, f"answered {len(self.answers)} times"
        return self.answers[0]


class CodedReply(Reply[C]):
    """A reply whose answer has a code."""

    @property
    def code(self) -> ErrorCode:
        return ErrorCode(self.answer.error_code)
