"""MFP requests beside other Python libraries that multiplex calls over one socket.

Each peer has an environment of its own and its fastest sane set-up; every call is an echo by name. The
processes are laid out as for MFP.
"""

from benchmarks.measuring import RATIO_WIDTH, Case, Contender, Processes, in_turns, ratio, title
from benchmarks.peers.environments import NoEnvironment, python_of
from benchmarks.report import Report

MEASURES = ("src/framehub/mfp", "src/framehub/runtime")

MFP = "benchmarks.sides.mfp"
CASES = (Case(64, 1, together=True), Case(64, 64))
TARGET_CASE = CASES[1]
TIMES = 6.0
PEERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "rsocket-py, TCP": ("rsocket", "benchmarks.peers.rsocket_echo", ("tcp",)),
    "rsocket-py, WebSocket": ("rsocket", "benchmarks.peers.rsocket_echo", ("ws",)),
    "python-socketio": ("socketio", "benchmarks.peers.socketio_echo", ()),
    "grpcio (aio)": ("grpc", "benchmarks.peers.grpc_echo", ()),
}
"""By what is printed: environment, module, and how it is told to run."""


def start(report: Report, processes: Processes) -> dict[str, Contender]:
    server = processes.server(MFP, "serve")
    found = {"mfp": Contender(server, processes.client(MFP, "client", server.port), {"as": "data"})}
    for name, (environment, module, words) in PEERS.items():
        try:
            python = python_of(environment)
        except NoEnvironment as why:
            report.say(f"left out, {name}: {why}")
            continue
        server = processes.server(module, "serve", *words, python=python)
        client = processes.client(module, "client", server.port, *words, python=python)
        found[name] = Contender(server, client)
    return found


def main(report: Report) -> None:
    with Processes() as processes:
        contenders = start(report, processes)
        for case in CASES:
            found = in_turns(contenders, case)
            rates = {name: result.rate for name, result in found.items() if name != "mfp"}
            fastest = max(rates, key=rates.__getitem__, default=None)
            report.say(
                f"{title(case):24} {'calls/s':>10}   mfp is so many times     CPU us a call: server, client"
            )
            for name, result in found.items():
                times = ratio(found["mfp"].rates, result.rates)
                mark = ""
                if case == TARGET_CASE and name == fastest:
                    what = f"mfp {case}, to the fastest peer ({name})"
                    mark = f"   {report.at_least(what, times.best, TIMES)}: {TIMES:g}"
                report.say(
                    f"  {name:22} {result.rate:>10,.0f}   {times!s:{RATIO_WIDTH}}"
                    f"   {result.server_us:>8.1f} {result.client_us:>8.1f}{mark}"
                )
