"""One query, its client, and its id towards workers."""

from hashlib import blake2b

from framehub.rpc.jobs import DONE, FINISHED, GIVEN, WAITING, Client, Conduct, Job, State, wids

KEY = b"k" * 32


def client(identity: bytes = b"c") -> Client:
    return Client(identity, wids(KEY, identity))


def test_an_id_towards_workers_is_a_keyed_hash_of_identity_and_id() -> None:
    """[RPC-4.1] The same after a restart; another key, client or id gives another."""
    wid = wids(KEY, b"client")(b"1")
    assert wid == blake2b(b"\x06client1", key=KEY, digest_size=16).digest()
    assert len(wid) == 16
    others = {wids(b"other", b"client")(b"1"), wids(KEY, b"client2")(b"1"), wids(KEY, b"client")(b"2")}
    assert len({wid, *others}) == 4


def test_identity_and_id_cannot_be_confused() -> None:
    """[RPC-3.1.3] A longer identity with a shorter id is another query."""
    assert wids(KEY, b"ab")(b"c") != wids(KEY, b"a")(b"bc")


def test_many_ids_of_many_clients_never_meet() -> None:
    """[RPC-3.1.3]"""
    made = {wids(KEY, b"c%d" % one)(b"%d" % two) for one in range(100) for two in range(100)}
    assert len(made) == 10_000


def test_states_are_in_their_order() -> None:
    assert sorted(State) == [WAITING, GIVEN, DONE, FINISHED]


def test_a_query_knows_whether_another_asks_the_same() -> None:
    """[RPC-3.1.5] Also when its argument is no longer kept."""
    job = Job(client(), b"1", b"w", b"f", b"argument")
    for _ in range(2):
        assert job.is_same(b"argument", b"f")
        assert not job.is_same(b"argumenT", b"f")
        assert not job.is_same(b"argument", b"g")
        assert not job.is_same(b"", b"f")
        job.drop_argument()
        job.state = DONE
    assert job.argument == b""


def test_questions_are_counted_by_the_second() -> None:
    """[RPC-3.3.3] At the limit and one above it."""
    asker = client()
    assert [asker.may_ask(2, 10.0) for _ in range(3)] == [True, True, False]
    assert not asker.may_ask(2, 10.9)
    assert [asker.may_ask(2, 11.0) for _ in range(3)] == [True, True, False]


def test_strikes_are_counted_over_ten_seconds() -> None:
    """[RPC-8.3] At the limit and one above it."""
    conduct = Conduct(0.0)
    for _ in range(2):
        conduct.strike(2, 9.9)
    assert conduct.until == 0.0
    conduct.strike(2, 9.9)
    assert conduct.until == 9.9 + 60


def test_strikes_of_long_ago_count_no_more() -> None:
    conduct = Conduct(0.0)
    for now in (0.0, 0.0, 10.0, 10.0):
        conduct.strike(2, now)
    assert conduct.until == 0.0
