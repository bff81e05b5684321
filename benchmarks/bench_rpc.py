"""Remote functions through a proxy, beside C++ ``zmq.proxy`` that acknowledges nothing, RPyC and zerorpc.

The proxy has a core of its own, and its CPU time is what a line shows first; client and worker share the
other. With one call in flight all three share one core. A proxy has two threads, ZeroMQ's and ours, and a
worker two processes: where the system may place them, at the end, is where the targets are. RPyC and
zerorpc have no proxy: client and server are connected directly, so theirs is half the way. "Whole" is our
own client and worker, which runs the function in a process of its own; the journal is off unless it says
otherwise.
"""

from collections.abc import Mapping

from benchmarks.measuring import (
    RATIO_HEAD,
    RATIO_WIDTH,
    Case,
    Contender,
    Process,
    Processes,
    Result,
    in_turns,
    ratio,
    title,
)
from benchmarks.peers.environments import NoEnvironment, python_of
from benchmarks.report import Report

MEASURES = ("src/framehub/gateway", "src/framehub/mfp", "src/framehub/rpc", "src/framehub/runtime")

BARE, OURS = "benchmarks.sides.zmq_bare", "benchmarks.sides.rpc"
LIMIT = "zmq.proxy, no acks"
OURS_BARE, OURS_JOURNAL = "ours, bare peers", "the same, journaled"
OURS_WHOLE, OURS_MFP = "ours, whole", "ours, over MFP"
CASES = (
    Case(64, 1, together=True),
    Case(64, 64),
    Case(4_096, 64),
    Case(65_536, 64),
    Case(64, 64, free=True),  # the last: from here on everything may run anywhere
)
TARGET_CASE = CASES[-1]
TO_LIMIT = 0.5
TO_WHOLE = 0.6
PEERS = {
    "RPyC": ("rpyc", "benchmarks.peers.rpyc_echo", 3.0),
    "zerorpc": ("zerorpc", "benchmarks.peers.zerorpc_echo", 10.0),
}
"""By what is printed: environment, module, and how many times as fast we want to be."""


class Sides:
    """The processes of this benchmark, each contender's proxy, worker and client."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.contenders: dict[str, Contender] = {}

    def add_bare(self, name: str, way: str) -> None:
        """C++ ``zmq.proxy``, with peers that speak that ``way``."""
        proxy = self._processes.server(BARE, "proxy")
        self._add_between(name, proxy.port, proxy, way)

    def add_ours(self) -> None:
        """Our proxy: with the bare worker and client, with our own, and called over MFP through a gateway.

        ``serve`` says its two ports, that of clients first; ``worker`` offers ``echo`` (bytes to bytes), and
        ``echo_json`` for those who come over MFP.
        """
        for name, words in ((OURS_BARE, ()), (OURS_JOURNAL, ("journal",))):
            proxy = self._processes.server(OURS, "serve", *words)
            self._add_between(name, proxy.port, proxy, "acks")
        for name, what, how in ((OURS_WHOLE, "serve", "client"), (OURS_MFP, "gateway", "mfp")):
            own = self._processes.server(OURS, what)
            front, back = own.port.split()
            worker = self._processes.client(OURS, "worker", back)
            client = self._processes.client(OURS, how, front)
            self.contenders[name] = Contender(own, client, beside=(worker,))

    def add_peers(self, report: Report) -> None:
        """Other libraries, as far as they can be had."""
        for name, (environment, module, _times) in PEERS.items():
            try:
                python = python_of(environment)
            except NoEnvironment as why:
                report.say(f"left out, {name}: {why}")
                continue
            server = self._processes.server(module, "serve", python=python)
            client = self._processes.client(module, "client", server.port, python=python)
            self.contenders[name] = Contender(server, client)

    def _add_between(self, name: str, ports: str, proxy: Process, way: str) -> None:
        front, back = ports.split()
        worker = self._processes.client(BARE, "worker", back, way)
        client = self._processes.client(BARE, "client", front, way)
        self.contenders[name] = Contender(proxy, client, beside=(worker,))


def head(case: Case) -> str:
    return (
        f"{title(case):24} {'calls/s':>10}   {RATIO_HEAD.format('the limit'):{RATIO_WIDTH}}"
        "   CPU us a call: proxy or server, the others"
    )


def marks(report: Report, case: Case, name: str, found: Mapping[str, Result]) -> str:
    """What a target says of this line."""
    if case != TARGET_CASE or OURS_WHOLE not in found:
        return ""
    if name == OURS_BARE:
        best = ratio(found[name].rates, found[LIMIT].rates).best
        return f"   {report.at_least(f'rpc {case}, to {LIMIT}', best, TO_LIMIT)}: {TO_LIMIT:g}"
    if name == OURS_MFP:
        best = ratio(found[name].rates, found[OURS_WHOLE].rates).best
        return (
            f"   {report.at_least(f'rpc {case}, over MFP to whole', best, TO_WHOLE)}: {TO_WHOLE:g} of whole"
        )
    if name in PEERS:
        times = PEERS[name][2]
        best = ratio(found[OURS_WHOLE].rates, found[name].rates).best
        return (
            f"   {report.at_least(f'rpc {case}, to {name}', best, times)}: {times:g}, ours {best:.1f} times"
        )
    return ""


def main(report: Report) -> None:
    with Processes() as processes:
        sides = Sides(processes)
        sides.add_bare(LIMIT, "query")
        sides.add_bare("zmq.proxy, one part", "echo")
        sides.add_ours()
        sides.add_peers(report)
        for case in CASES:
            found = in_turns(sides.contenders, case)
            report.say(head(case))
            for name, result in found.items():
                to_limit = ratio(result.rates, found[LIMIT].rates)
                report.say(
                    f"  {name:22} {result.rate:>10,.0f}   {to_limit!s:{RATIO_WIDTH}}"
                    f"   {result.server_us:>8.1f} {result.client_us:>8.1f}{marks(report, case, name, found)}"
                )
