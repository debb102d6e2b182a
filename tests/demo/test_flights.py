"""The records that the demo sends, against the rows of the data file."""

import json

import pyarrow as pa
import pytest
from demo.flights import FLIGHTS, months_of, read_flights, read_joined, records_of


@pytest.mark.slow
def test_all_flights_are_numbered_in_the_order_of_their_departures() -> None:
    flights = read_flights()
    assert flights["id"].to_pylist() == list(range(FLIGHTS))
    months = months_of(flights)
    assert [set(one["month"].to_pylist()) for one in months] == [{number} for number in range(1, 13)]
    assert pa.concat_tables(months).equals(flights)


@pytest.mark.slow
def test_a_record_is_the_flight_as_json_with_its_carrier_as_key() -> None:
    flights = read_flights()
    # One without departure, one without a plane, and some more.
    cancelled = flights["dep_time"].to_pylist().index(None)
    unknown = flights["tailnum"].to_pylist().index(None)
    chosen = flights.take([0, cancelled, unknown, 1_000, FLIGHTS - 1])
    records = records_of(chosen)
    assert records["key"].to_pylist() == chosen["carrier"].to_pylist()
    assert [json.loads(one) for one in records["value"].to_pylist()] == chosen.to_pylist()


@pytest.mark.parametrize(("name", "key"), [("airlines", "carrier"), ("planes", "tailnum")])
def test_what_flights_are_joined_with_has_one_row_for_each_key(name: str, key: str) -> None:
    keys = read_joined(name)[key].to_pylist()
    assert len(set(keys)) == len(keys) > 0


def test_the_weather_has_one_row_for_each_airport_and_hour() -> None:
    weather = read_joined("weather").select(["origin", "time_hour"])
    assert weather.group_by(["origin", "time_hour"]).aggregate([]).num_rows == weather.num_rows > 0
