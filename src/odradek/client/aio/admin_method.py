"""The type of an admin client's methods: those of an operation, and a time of the call's own.

    await admin.list_topics(internal=True)      at most default.api.timeout.ms
    await admin.list_topics(timeout=5)          at most 5 seconds

Python's types cannot add an argument by name to the arguments of another function. So a type checker checks
all arguments of a call without `timeout`, and of one with it the time and the result; Python checks all.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from types import NoneType
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar, get_args, overload

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)

_CLIENT: Final = Parameter("self", Parameter.POSITIONAL_ONLY)
_TIMEOUT: Final = Parameter("timeout", Parameter.KEYWORD_ONLY, default=None, annotation="float | None")


class Call(Protocol, Generic[P, T_co]):
    """A method of one client."""

    @overload
    def __call__(self, *arguments: P.args, **named: P.kwargs) -> T_co: ...
    @overload
    def __call__(
        self,
        *arguments: Any,  # noqa: ANN401  # see the module
        timeout: float | None,
        **named: Any,  # noqa: ANN401
    ) -> T_co: ...


class Method(Protocol, Generic[P, T_co]):
    """A method of the class."""

    @overload
    def __get__(self, client: None, owner: type, /) -> "Method[P, T_co]": ...
    @overload
    def __get__(self, client: object, owner: type | None = None, /) -> Call[P, T_co]: ...


def shown(operation: Callable[..., object]) -> Signature:
    """The signature of the method that carries out an operation: with the client, the time and its result."""
    of_operation = signature(operation)
    parameters = [_CLIENT, *of_operation.parameters.values(), _TIMEOUT]
    # The operation itself is a generator, whose last type is that of its result.
    result = get_args(of_operation.return_annotation)[-1]
    return of_operation.replace(
        parameters=parameters, return_annotation=None if result is NoneType else result
    )
