"""Any parts, from anybody, in any state: nothing escapes, all tables agree, and what goes out is lawful."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import Message
from framehub.errors import LocalProtocolError
from framehub.rpc import messages, texts
from framehub.rpc.client import Queries
from framehub.rpc.keeping import OVERHEAD
from framehub.rpc.messages import FIELDS, MAX_TEXT, Way
from framehub.rpc.proxy import Proxy
from framehub.rpc.settings import ClientSettings, ProxySettings, WorkerSettings
from framehub.rpc.worker import Workbench
from fuzz.rpc import CLIENTS, DESCRIPTIONS, IDS, KEY, NAMES, WIDS, WORKERS, Run, agree

ways = st.sampled_from(Way)
blocks = st.binary(max_size=40)
types = st.sampled_from([type_.encode() for type_ in Message])
wild = st.lists(st.one_of(types, blocks, st.sampled_from(IDS + NAMES + WIDS)), max_size=8)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=63)
offered = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"],
        exclude_characters="/\\\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    ),
    min_size=1,
    max_size=63,
).filter(lambda name: name not in (".", ".."))
coders = st.text(st.characters(exclude_categories=["Cs"]), max_size=63)
FIELD: dict[str, st.SearchStrategy[Any]] = {
    "id": st.binary(min_size=1, max_size=64).map(bytes.hex),
    "argument": blocks.map(bytes.hex),
    "result": blocks.map(bytes.hex),
    "function": names,
    "reason": names,
    "argument_coder": coders,
    "result_coder": coders,
    "text": coders,
    "json": coders,
    "functions": st.lists(st.tuples(offered, coders, coders).map(list), max_size=5, unique_by=lambda f: f[0]),
}


@st.composite
def sensible(draw: st.DrawFn, way: Way, ids: tuple[bytes, ...]) -> list[bytes]:
    """A message about ids and functions that others speak of too."""
    type_ = draw(st.sampled_from(list(FIELDS[way])))
    if type_ is Message.WORKER_REGISTER:
        offered = draw(st.lists(st.sampled_from(NAMES), unique=True))
        coder = draw(st.sampled_from(("Int", "Int", "Int", "Long")))
        return messages.registration([(name.decode(), coder, "Int") for name in offered])
    pools: dict[str, st.SearchStrategy[bytes]] = {
        "id": st.sampled_from(ids),
        "function": st.sampled_from(NAMES),
        "json": st.sampled_from(DESCRIPTIONS),
        "reason": st.sampled_from((b"died", b"unstarted", b"other")),
        "argument_coder": st.just(b"Int"),
        "result_coder": st.just(b"Int"),
    }
    return [type_.encode(), *(draw(pools.get(name, blocks)) for name in FIELDS[way][type_])]


@given(ways, wild)
def test_any_parts_are_a_message_or_not(way: Way, parts: list[bytes]) -> None:
    """[RPC-8.2] And a lawful one is the same after it was explained and composed."""
    messages.type_of(parts)
    messages.readable_id(parts)
    if messages.fault(way, parts) is None and messages.type_of(parts) is not Message.RESPONSE_EXCEPTION:
        assert messages.compose(way, messages.explain(way, parts)) == parts


@given(st.data(), ways)
def test_what_is_composed_is_explained_the_same(data: st.DataObject, way: Way) -> None:
    """[RPC-2.1]"""
    type_ = data.draw(st.sampled_from(list(FIELDS[way])))
    said = {"type": type_.value, **{name: data.draw(FIELD[name]) for name in FIELDS[way][type_]}}
    parts = messages.compose(way, said)
    assert messages.fault(way, parts) is None
    assert messages.explain(way, parts) == said


@given(ways, st.dictionaries(st.sampled_from(["type", *FIELD]), st.one_of(st.none(), st.integers(), coders)))
def test_whatever_is_said_composes_or_is_refused(way: Way, said: dict[str, Any]) -> None:
    try:
        parts = messages.compose(way, said)
    except LocalProtocolError:
        return
    assert messages.fault(way, parts) is None


@given(st.binary(max_size=200), st.integers(0, 2))
def test_a_tidy_text_stays_as_it_is(text: bytes, times: int) -> None:
    """[RPC-2.6]"""
    tidied = texts.tidy(text * 1_000**times)
    assert len(tidied) <= MAX_TEXT
    assert texts.tidy(tidied) == tidied
    assert not any(character < " " and character not in "\t\n" for character in tidied.decode())


steps = st.one_of(
    st.tuples(st.just("client"), st.sampled_from(CLIENTS), wild | sensible(Way.CLIENT_TO_PROXY, IDS)),
    st.tuples(st.just("client"), st.sampled_from(CLIENTS), sensible(Way.CLIENT_TO_PROXY, IDS)),
    st.tuples(st.just("worker"), st.sampled_from(WORKERS), wild | sensible(Way.WORKER_TO_PROXY, WIDS)),
    st.tuples(st.just("worker"), st.sampled_from(WORKERS), sensible(Way.WORKER_TO_PROXY, WIDS)),
    st.tuples(st.just("wait"), st.integers(1, 25), st.none()),
    st.tuples(st.just("lost"), st.sampled_from(WORKERS), st.booleans()),
)


@given(st.lists(steps, max_size=60), st.booleans())
def test_a_proxy_bears_any_conversation(conversation: list[tuple[str, Any, Any]], fresh: bool) -> None:
    """[RPC-8.2] [RPC-2.1]"""
    small: dict[str, Any] = {"window": 2, "max_queue": 3, "attempts": 2, "kept_bytes": 3 * OVERHEAD}
    proxy = Proxy(ProxySettings(**small), key=KEY, now=0.0, missing=WORKERS[:1] * fresh)
    now = 0.0
    for what, who, how in conversation:
        if what == "wait":
            for _ in range(who):
                now += 0.5
                proxy.tick(now)
        elif what == "client":
            proxy.client_says(who, how, now)
        elif what == "worker":
            proxy.worker_says(who, how, now)
        else:
            lost = [item for item in proxy.to_workers if item[0] == who]
            proxy.to_workers[:] = [item for item in proxy.to_workers if item[0] != who]
            proxy.undelivered([] if how else lost, lost if how else [], now)
            proxy.untold(proxy.to_clients[:])
            proxy.to_clients.clear()
        agree(proxy)
    for way, sending in ((Way.PROXY_TO_CLIENT, proxy.to_clients), (Way.PROXY_TO_WORKER, proxy.to_workers)):
        for _, parts, _ in sending:
            assert messages.fault(way, parts) is None


@given(st.lists(st.one_of(wild, sensible(Way.PROXY_TO_CLIENT, IDS), st.integers(0, 20)), max_size=60))
def test_a_client_bears_any_proxy(conversation: list[list[bytes] | int]) -> None:
    """[RPC-8.2] [RPC-3.2.2] It settles nothing twice, and what it sends is lawful."""
    queries = Queries(ClientSettings(), random=lambda: 0.5, new_id=lambda: b"probe")
    for id_ in IDS:
        queries.ask(id_, b"f", b"a", now=0.0, timeout=60.0)
    now = 0.0
    for said in conversation:
        if isinstance(said, int):
            now += said
            queries.tick(now)
        else:
            queries.said(said, now)
    assert len({settled.id for settled in queries.settled}) == len(queries.settled)
    assert len(queries.settled) + queries.pending == len(IDS)
    assert all(messages.fault(Way.CLIENT_TO_PROXY, parts) is None for parts in queries.out)


acts = st.tuples(st.sampled_from(["finished", "failed", "died", "give_back"]), st.sampled_from(WIDS))


@given(st.lists(st.one_of(wild, sensible(Way.PROXY_TO_WORKER, WIDS), st.integers(0, 20), acts), max_size=60))
def test_a_worker_bears_any_proxy(conversation: list[Any]) -> None:
    """[RPC-8.2] [RPC-5.4.2] It begins nothing that it runs or has the answer of."""
    functions = [(name.decode(), "Int", "Int") for name in NAMES]
    bench = Workbench(WorkerSettings(), functions, {"version": 1}, once=["g"])
    now, begun = 0.0, set[bytes]()
    for said in conversation:
        if isinstance(said, int):
            now += said
            bench.tick(now)
        elif isinstance(said, list):
            bench.said(said, now)
        else:
            act, wid = said
            begun.discard(wid)
            if act == "finished":
                bench.finished(wid, result=b"r", now=now)
            elif act == "failed":
                bench.finished(wid, exception="no", now=now)
            elif act == "died":
                bench.died([wid], now)
            else:
                bench.give_back([wid], now)
        for wid, _, _ in bench.to_begin:
            assert wid not in begun
            begun.add(wid)
        bench.to_begin.clear()
        assert len(set(bench.holds)) == len(bench.holds)
    assert all(messages.fault(Way.WORKER_TO_PROXY, parts) is None for parts in bench.out)


@given(st.binary(max_size=600))
def test_any_script_of_the_fuzzer_holds(script: bytes) -> None:
    """[RPC-8.2]"""
    Run(script).go()
