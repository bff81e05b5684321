"""The choice of the WebSocket library: a bare echo of each, and the memory of an idle connection.

Each is on uvloop, without compression, tuned as its documentation allows. docs/adr/0005-websocket-library.md
says what was made of the figures.
"""

import sys

from benchmarks.measuring import RATIO_HEAD, RATIO_WIDTH, Case, Contender, Processes, in_turns, ratio, title
from benchmarks.peers.environments import NoEnvironment, python_of
from benchmarks.report import Report

MEASURES = ("requirements",)

BARE, IDLE = "benchmarks.sides.bare", "benchmarks.sides.idle"
CASES = (Case(64, 1, together=True), Case(64, 64), Case(65_536, 64))
LIBRARIES = {"aiohttp": "benchmarks.peers.aiohttp_echo", "websockets": "benchmarks.peers.websockets_echo"}
FIRST, CONNECTIONS = 100, 2_000
READ_BUFFER = "4096"


def main(report: Report) -> None:
    pythons = {}
    for name in LIBRARIES:
        try:
            pythons[name] = python_of(name)
        except NoEnvironment as why:
            report.say(f"left out, {name}: {why}")
    with Processes() as processes:
        server = processes.server(BARE, "serve")
        contenders = {"picows": Contender(server, processes.client(BARE, "client", server.port, "echo"))}
        for name, python in pythons.items():
            server = processes.server(LIBRARIES[name], "serve", python=python)
            client = processes.client(LIBRARIES[name], "client", server.port, python=python)
            contenders[name] = Contender(server, client)
        for case in CASES:
            found = in_turns(contenders, case)
            report.say(
                f"{title(case):24} {'echoes/s':>10}   {RATIO_HEAD.format('picows'):{RATIO_WIDTH}}"
                "   CPU us an echo: server, client"
            )
            for name, result in found.items():
                to_picows = ratio(result.rates, found["picows"].rates)
                report.say(
                    f"  {name:22} {result.rate:>10,.0f}   {to_picows!s:{RATIO_WIDTH}}"
                    f"   {result.server_us:>8.1f} {result.client_us:>8.1f}"
                )
    report.say(f"{f'idle, one of {CONNECTIONS:,}':24} {'KiB each':>10}")
    report.say(f"  {'picows':22} {idle(BARE, '/echo'):>10.1f}")
    report.say(f"  {'picows, small buffer':22} {idle(BARE, '/echo', READ_BUFFER):>10.1f}")
    for name, python in pythons.items():
        report.say(f"  {name:22} {idle(LIBRARIES[name], '/', python=python):>10.1f}")


def idle(module: str, path: str, *words: str, python: str = sys.executable) -> float:
    """KiB of the server's memory for each connection that does nothing."""
    with Processes() as processes:
        server = processes.server(module, "serve", *words, python=python)
        client = processes.client(IDLE, server.port, path)
        client.ask(count=FIRST)
        before = server.rss()
        client.ask(count=CONNECTIONS)
        return (server.rss() - before) / CONNECTIONS / 1024
