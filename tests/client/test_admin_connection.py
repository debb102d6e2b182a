"""What an admin client does while a coordinator is on its way."""

import time

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.admin_connection import Missing, patient
from odradek.client.configuration import ClientConfig
from odradek.client.group_admin import GroupAdmin
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.list_transactions import ListTransactionsResponse, TransactionState
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker


class Coordinator:
    """Answers with these errors, then with 7."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)

    @patient
    def ask(self) -> int:
        if self.codes:
            raise ApiError(self.codes.pop(0))
        return 7


@pytest.fixture(autouse=True)
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on by what is slept."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])


def test_a_coordinator_that_loads_or_moves_is_asked_again() -> None:
    assert Coordinator(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR).ask() == 7


def test_one_that_never_comes_is_given_up() -> None:
    with pytest.raises(ApiError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        Coordinator(*[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000).ask()


def test_other_refusals_are_final() -> None:
    coordinator = Coordinator(ErrorCode.GROUP_ID_NOT_FOUND)
    with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
        coordinator.ask()
    assert coordinator.ask() == 7


# --- lists of the whole cluster


class Lists:
    """A connection to a broker that has one group and one transactional id, each named after it."""

    has_any = True

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id

    def __enter__(self) -> "Lists":
        return self

    def __exit__(self, *_: object) -> None:
        """See `close`."""

    def close(self) -> None:
        """Nothing to close."""

    def ask(self, request: object, *_: object) -> object:
        if isinstance(request, MetadataRequest):
            rows = [MetadataResponseBroker(number, f"b{number}", 9092) for number in (1, 2, 3)]
            return MetadataResponse(brokers=rows)
        if self.broker_id == 3:
            raise ConnectionFailed("it hung up")
        if isinstance(request, ListGroupsRequest):
            groups = [ListedGroup(f"group-{self.broker_id}")]
            return ListGroupsResponse(groups=groups if self.has_any else [])
        states = [TransactionState(f"id-{self.broker_id}", 1, "Empty")]
        return ListTransactionsResponse(transaction_states=states if self.has_any else [])


class TestListsOfACluster:
    """The admin clients of a cluster of three: the second cannot be reached, the third hangs up."""

    @pytest.fixture(autouse=True)
    def connected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timeouts_ms: list[int] = []

        def connect(config: ClientConfig, address: tuple[str, int] | None = None) -> Lists:
            self.timeouts_ms.append(config.request_timeout_ms)
            broker_id = 1 if address is None else int(address[0][1:])
            if broker_id == 2:
                raise ConnectionFailed("no connection to b2:9092")
            return Lists(broker_id)

        monkeypatch.setattr(ClientConfig, "connect", connect)

    def test_brokers_that_do_not_answer_are_named(self) -> None:
        missing: Missing = {}
        assert [one.group for one in GroupAdmin("b1").list_groups(missing)] == ["group-1"]
        assert missing == {
            2: "broker 2 does not answer: no connection to b2:9092",
            3: "broker 3 does not answer: it hung up",
        }

    def test_who_needs_all_of_them_gets_an_error(self) -> None:
        with pytest.raises(ConnectionFailed, match="b2:9092"):
            GroupAdmin("b1").list_groups()
