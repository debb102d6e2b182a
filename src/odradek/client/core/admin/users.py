"""What a cluster stores about its users: quotas (KIP-546) and SCRAM credentials (KIP-554)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.client.core.admin.elements import Results
from odradek.client.core.operation import Operation, ask
from odradek.client.core.requests import Send, ToAny
from odradek.client.refusal import raise_for, words_of
from odradek.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

DEFAULT_ENTITY: Final = None
"""As the name of an entity: the quotas of those that have none of their own."""
_EXACT, _DEFAULT, _ANY = 0, 1, 2
_ENTITY_TYPES: Final = ("user", "client-id", "ip")
_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


@dataclass(frozen=True, slots=True)
class ClientQuotas:
    """The quotas of one entity."""

    entity: dict[str, str | None]
    """Its "user", "client-id" or "ip"; the name None stands for all that have no quotas of their own."""
    values: dict[str, float]
    """By Kafka's names: `producer_byte_rate` say."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """A password that a user may log in with; neither it nor its hash is told."""

    mechanism: str
    """SCRAM-SHA-256 or SCRAM-SHA-512."""
    iterations: int


def describe_client_quotas(
    entity: Mapping[str, str | None] | None = None,
    *,
    any_of: Sequence[str] = (),
    strict: bool = False,
) -> Operation[list[ClientQuotas]]:
    """The quotas of entities, or of all.

    `entity` maps "user", "client-id" or "ip" to a name that must be the entity's, or None for the default;
    `any_of` lists those for which any name will do. With `strict` an entity has no other parts.
    """
    named = dict(entity or {})
    for kind in [*named, *any_of]:
        if kind not in _ENTITY_TYPES:
            raise ValueError(f"quotas are those of one of {', '.join(_ENTITY_TYPES)}, not of {kind!r}")
    components = [
        ComponentData(kind, _DEFAULT if name is DEFAULT_ENTITY else _EXACT, name)
        for kind, name in named.items()
    ]
    components += [ComponentData(kind, _ANY, None) for kind in any_of]
    answer = yield from ask(
        Send(ToAny(), DescribeClientQuotasRequest(components, strict)),
        DescribeClientQuotasResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, answer.error_message, about="client quotas")
    return [
        ClientQuotas(
            {one.entity_type: one.entity_name for one in entry.entity},
            {one.key: one.value for one in entry.values},
        )
        for entry in answer.entries or []
    ]


def describe_user_scram_credentials(
    users: Sequence[str] | None = None,
) -> Operation[dict[str, list[ScramCredential]]]:
    """The SCRAM credentials of these users, or of all that have some.

    Raises ElementsRefused, with RESOURCE_NOT_FOUND for a user that has none.
    """
    wanted = None if users is None else [UserName(one) for one in dict.fromkeys(users)]
    answer = yield from ask(
        Send(ToAny(), DescribeUserScramCredentialsRequest(wanted)),
        DescribeUserScramCredentialsResponse,
        lambda answer: [answer.error_code, *(one.error_code for one in answer.results)],
    )
    raise_for(answer.error_code, answer.error_message, about="SCRAM credentials")
    results: Results[str, list[ScramCredential]] = Results()
    for one in answer.results:
        if one.error_code != ErrorCode.NONE:
            words = words_of(one.error_code, one.error_message)
            results.refused[one.user] = ApiError(known_code(one.error_code), words)
        else:
            results.found[one.user] = [
                ScramCredential(_MECHANISMS.get(info.mechanism, "unknown"), info.iterations)
                for info in one.credential_infos
            ]
    return results.all_or_raise("described")
