"""The driver, on a simulated cluster: requests reach their brokers, whatever happens to these."""

import asyncio
from dataclasses import replace

from odradek.base.error_codes import ErrorCode
from odradek.client.aio.driver import Driver, DriverOptions
from odradek.client.bootstrap import parse_bootstrap_servers
from odradek.client.core.requests import Send, ToAny, ToController, ToCoordinator, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Cluster, simulate
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def driver_of(cluster: Cluster) -> Driver:
    options = DriverOptions(parse_bootstrap_servers(cluster.bootstrap_servers))
    driver = Driver(options, asyncio.get_running_loop())
    driver.pump()
    return driver


@simulate(brokers=3, seeds=3)
async def test_requests_reach_any_broker_nodes_controller_and_coordinator(cluster: Cluster) -> None:
    driver = driver_of(cluster)
    outcome = await driver.ask(Send(ToAny(), DescribeClusterRequest()))
    assert len(outcome.answer(DescribeClusterResponse).brokers) == 3
    for node in cluster.brokers:
        assert (await driver.ask(Send(ToNode(node), DescribeClusterRequest()))).node == node
    outcome = await driver.ask(Send(ToController(), DescribeClusterRequest()))
    assert outcome.node == cluster.controller
    heartbeat = HeartbeatRequest(group_id="billing", member_id="nobody", generation_id=1)
    while True:  # the coordinator may be loading
        ask = Send(ToCoordinator("billing"), heartbeat)
        code = ErrorCode((await driver.ask(ask)).answer(HeartbeatResponse).error_code)
        driver.routing.refused(ask, code)
        if not code.is_retriable:
            break
        await asyncio.sleep(0.1)
    assert code is ErrorCode.UNKNOWN_MEMBER_ID
    driver.close()
    assert isinstance((await driver.ask(Send(ToAny(), DescribeClusterRequest()))).error, ConnectionFailed)


@simulate(brokers=3, seeds=6)
async def test_a_killed_broker_fails_its_requests_and_is_reached_again(cluster: Cluster) -> None:
    driver = driver_of(cluster)
    await driver.ask(Send(ToAny(), DescribeClusterRequest()))
    cluster.kill(2)
    outcome = await driver.ask(Send(ToNode(2), DescribeClusterRequest(), timeout_ms=5_000))
    assert isinstance(outcome.error, ConnectionFailed)
    outcome = await driver.ask(Send(ToAny(), DescribeClusterRequest(), timeout_ms=30_000))
    await cluster.start(2)
    await cluster.recover()
    while (await driver.ask(Send(ToNode(2), DescribeClusterRequest()))).error is not None:
        await asyncio.sleep(0.1)
    driver.close()


@simulate(brokers=3, seeds=2)
async def test_brokers_that_give_the_same_address_keep_their_connections(cluster: Cluster) -> None:
    driver = driver_of(cluster)
    await driver.ask(Send(ToAny(), DescribeClusterRequest()))
    first = driver.view.nodes[1]
    driver.view.nodes = {one: replace(first, id=one) for one in (1, 2)}
    for _ in range(2):
        asks = [driver.ask(Send(ToNode(node), DescribeClusterRequest())) for node in (1, 2, 1, 2)]
        assert [outcome.node for outcome in await asyncio.gather(*asks)] == [1, 2, 1, 2]
        assert not [ask for ask in asks if ask.result().error is not None]
    driver.close()


@simulate(brokers=3, seeds=12)
async def test_the_only_living_broker_is_found_at_the_third_attempt_at_the_latest(cluster: Cluster) -> None:
    for dead in (1, 2):
        cluster.kill(dead)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    driver = driver_of(cluster)
    while not driver.view.is_known:
        await asyncio.sleep(0.01)
    assert loop.time() - begun < 0.5, "two waits, of about 100 and 200 ms"
    driver.close()


@simulate(brokers=1, seeds=2)
async def test_a_request_that_cannot_be_encoded_fails_alone(cluster: Cluster) -> None:
    driver = driver_of(cluster)
    await driver.ask(Send(ToNode(1), DescribeClusterRequest()))
    wrong = driver.ask(Send(ToNode(1), HeartbeatRequest(group_id="\ud800")))
    right = driver.ask(Send(ToNode(1), DescribeClusterRequest()))
    error = (await wrong).error
    assert error is not None
    assert error.code is ErrorCode.INVALID_REQUEST
    assert "Heartbeat cannot be sent" in str(error)
    assert (await right).error is None, "on the same connection"
    driver.close()


@simulate(brokers=1, seeds=2)
async def test_a_broker_that_does_not_tell_what_it_serves_is_asked_again(cluster: Cluster) -> None:
    refusals = cluster.faults(1).error("ApiVersions", "UNKNOWN_SERVER_ERROR", times=2)
    driver = driver_of(cluster)
    outcome = await driver.ask(Send(ToAny(), DescribeClusterRequest()))
    assert "does not tell what it serves: unknown server error" in str(outcome.error)
    while outcome.error is not None:
        outcome = await driver.ask(Send(ToAny(), DescribeClusterRequest()))
    assert refusals.hits == 2
    driver.close()
