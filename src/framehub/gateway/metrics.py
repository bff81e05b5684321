"""A gateway's state as metrics for Prometheus, made when they are asked for."""

from collections.abc import Iterator
from importlib.metadata import version
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from framehub.gateway import state
from framehub.runtime.tally import BOUNDS, Tally

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway


class Metrics(Collector):
    """``text`` is what a scrape gets."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Nothing: what there is depends on the gateway."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Everything there is now."""
        gateway = self._gateway
        told = GaugeMetricFamily("framehub_info", "What runs here.", labels=["version", "node"])
        told.add_metric([version("framehub"), gateway.writer.node.name if gateway.writer else ""], 1)
        yield told
        yield _gauge("ready", "Whether new work should come here.", state.readiness(gateway).ready)
        yield _gauge("pending", "Requests, streams and queries under way.", gateway.pending)
        text = "What waits in the hub, the proxy and the journal, and what connections read into."
        yield _gauge("buffered_bytes", text, gateway.buffered_bytes)
        yield from _connections(state.connections(gateway))
        if gateway.endpoints:
            text = "Requests over MFP that ended, since the first scrape."
            yield from _ended("request", "endpoint", text, gateway.endpoints.counted())
        yield from _hub(state.services(gateway))
        if gateway.hub is not None and gateway.hub.is_up:
            text = "Streams to services that ended, since the first scrape."
            yield from _ended("service_stream", "service", text, gateway.hub.counted())
        yield from _functions(state.functions(gateway))
        if gateway.functions is not None and gateway.functions.is_up:
            text = "Calls of functions that ended, by ZeroMQ and over MFP, since the first scrape."
            yield from _ended("call", "function", text, gateway.functions.counted())
        yield from _journal(state.journal(gateway))


def _connections(told: dict[str, Any]) -> Iterator[Metric]:
    yield _gauge("mfp_connections", "MFP connections that are open.", told["mfp_open"])
    yield _counter("mfp_connections_opened", "MFP connections so far.", told["mfp_opened"])
    yield _counter("mfp_exchanges", "Messages, requests, streams and pings so far.", told["mfp_exchanges"])
    yield _counter("mfp_busy", "Requests to handlers that had no time.", told["busy"])
    yield _counters("limited", "How often users met their limits, by limit.", "limit", told["limited"])
    yield _gauge("hub_connections", "Clients of the hub that are connected.", told["hub_open"])
    yield _counters("upgrades_refused", "Connections refused, by HTTP status.", "status", told["refused"])


def _ended(what: str, label: str, text: str, tally: Tally) -> Iterator[Metric]:
    ends = CounterMetricFamily(f"framehub_{what}s", text, labels=[label, "outcome"])
    took = HistogramMetricFamily(f"framehub_{what}_seconds", "How long each took.", labels=[label])
    limits = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    for name, ended in tally.told():
        for outcome, count in sorted(ended.outcomes.items()):
            ends.add_metric([name, outcome], count)
        took.add_metric([name], [*zip(limits, accumulate(ended.buckets), strict=True)], ended.seconds)
    yield ends
    yield took


def _hub(told: dict[str, Any]) -> Iterator[Metric]:
    if not told["is_on"]:
        return
    yield _gauge("hub_streams", "Streams that are open.", told["streams"])
    yield _gauge("hub_held_bytes", "What waits for clients and services that are behind.", told["held_bytes"])
    yield _counters("hub_events", "What was refused or ended, by kind.", "event", told["counts"])
    instances = GaugeMetricFamily(
        "framehub_hub_instances", "Instances of a service.", labels=["service", "name"]
    )
    found: dict[tuple[str, str], int] = {}
    for one in told["instances"]:
        key = (str(one["service"]), one["name"])
        found[key] = found.get(key, 0) + 1
    for labels, count in found.items():
        instances.add_metric(labels, count)
    yield instances


def _functions(told: dict[str, Any]) -> Iterator[Metric]:
    if not told["is_on"]:
        return
    yield _gauge("rpc_workers", "Workers that are registered.", told["workers_open"])
    yield _gauge("rpc_pending", "Queries without an answer.", told["pending"])
    yield _gauge("rpc_held_bytes", "Arguments and results that are kept.", told["held_bytes"])
    yield _counters("rpc_events", "What was ignored or refused, by kind.", "event", told["counts"])
    for name, text in (
        ("workers", "Workers that offer a function."),
        ("waiting", "Queries that wait for a worker."),
    ):
        family = GaugeMetricFamily(f"framehub_rpc_function_{name}", text, labels=["function"])
        for one in told["functions"]:
            family.add_metric([one["name"]], one[name])
        yield family


def _journal(told: dict[str, Any]) -> Iterator[Metric]:
    yield _gauge("journal_on", "Whether frames are recorded.", told["is_on"] and not told["failed"])
    if not told["is_on"]:
        return
    yield _counter("journal_rows", "Rows ever taken; their last number.", told["appended"])
    yield _counter("journal_rows_durable", "The number of the last row on disk.", told["durable"])
    yield _gauge("journal_backlog_bytes", "Rows not on disk yet.", told["backlog_bytes"])
    yield _counter("journal_rows_dropped", "Rows lost because the disk was slow.", told["dropped"])
    yield _counter("journal_segments_sealed", "Segments turned into Parquet.", told["sealed"])
    yield _counter("journal_segments_not_sealed", "Segments that could not be.", told["not_sealed"])
    yield _counter("journal_segments_removed", "Old segments removed.", told["removed"])
    yield _gauge("journal_failed", "Whether the journal cannot be written any more.", bool(told["failed"]))


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"framehub_{name}", text, value=float(value))


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"framehub_{name}", text, value=float(value))


def _counters(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = CounterMetricFamily(f"framehub_{name}", text, labels=[label])
    for kind, count in sorted(values.items()):
        family.add_metric([kind], count)
    return family
