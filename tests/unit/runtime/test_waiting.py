"""Futures by id: each settles once, and none is left behind."""

import asyncio

import pytest

from framehub.codes import Service
from framehub.errors import (
    ConnectionClosed,
    RemoteProtocolError,
    RequestAborted,
    RequestTimeout,
    StreamAborted,
)
from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope
from framehub.mfp.events import (
    Acknowledged,
    MessageRefused,
    PongReceived,
    RequestFailed,
    ResponseReceived,
    StreamRefused,
)
from framehub.mfp.frames import ResponseFrame
from framehub.runtime.calls import Reply
from framehub.runtime.waiting import GAVE_UP, Waiting

ANSWER = ResponseReceived(1, ResponseFrame(id=9, ref=1), 1)


async def test_an_answer_becomes_a_reply() -> None:
    waiting = Waiting()
    future = waiting.for_reply(1)
    waiting.answered(ANSWER, envelope.decode(b'{"endpoint":"e","data":5}'))
    assert await future == Reply(5)
    assert not waiting.forget(1)


async def test_an_answer_that_cannot_be_read_fails_clearly() -> None:
    waiting = Waiting()
    future = waiting.for_reply(1)
    waiting.answered(ANSWER, BadEnvelope("no JSON"))
    with pytest.raises(RemoteProtocolError, match="no JSON"):
        await future


@pytest.mark.parametrize(
    ("code", "by_peer", "error", "reason"),
    [
        (Service.TIMEOUT, False, RequestTimeout, "no answer in time"),
        (Service.TIMEOUT, True, RequestTimeout, "the peer gave up"),
        (Service.UNKNOWN, True, RequestAborted, "does not know"),
        (Service.ABORT, True, RequestAborted, "refused"),
    ],
)
async def test_each_failure_has_its_error(
    code: Service, by_peer: bool, error: type[Exception], reason: str
) -> None:
    waiting = Waiting()
    future = waiting.for_reply(1)
    waiting.failed(RequestFailed(1, code, by_peer, 1))
    with pytest.raises(error, match=reason):
        await future


def test_a_time_is_told_with_what_was_asked_but_not_where_the_peer_had_one_of_its_own() -> None:
    ours, theirs = RequestTimeout("no answer in time"), RequestTimeout(GAVE_UP)
    assert str(Waiting.timed_out("a", ours, 29.99993)) == "a: no answer in time (30 s)"
    assert str(Waiting.timed_out("a", theirs, 30.0)) == "a: the peer gave up"


async def test_acks_and_pongs_settle_their_own() -> None:
    waiting = Waiting()
    ack, pong = waiting.for_ack(2, about=2), waiting.for_pong(3)
    waiting.acknowledged(Acknowledged(2, 1))
    waiting.pong(PongReceived(3, 0.25, 2))
    await ack
    assert await pong == 0.25


async def test_a_refusal_fails_every_ack_of_what_belongs_to_it() -> None:
    """A peer that aborted a stream may never acknowledge the chunks that were under way."""
    waiting = Waiting()
    opening, chunk, other = (waiting.for_ack(id_, about=about) for id_, about in ((5, 5), (7, 5), (6, 6)))
    waiting.refused(StreamRefused(5, 1))
    for future in (opening, chunk):
        with pytest.raises(StreamAborted):
            await future
    waiting.refused(MessageRefused(6, 2))
    with pytest.raises(RequestAborted):
        await other


async def test_what_is_forgotten_or_over_is_not_settled_again() -> None:
    waiting = Waiting()
    reply, ack = waiting.for_reply(1), waiting.for_ack(2, about=2)
    assert waiting.forget(1)
    waiting.forget(2)
    waiting.answered(ANSWER, envelope.decode(b'{"endpoint":"e"}'))
    waiting.refused(MessageRefused(2, 1))
    assert not reply.done()
    assert not ack.done()
    cancelled = waiting.for_reply(1)
    cancelled.cancel()
    waiting.failed(RequestFailed(1, Service.ABORT, True, 1))
    assert cancelled.cancelled()


async def test_closing_fails_all_and_keeps_nothing() -> None:
    waiting = Waiting()
    futures: list[asyncio.Future[object]] = [
        waiting.for_reply(1),  # type: ignore[list-item]
        waiting.for_ack(2, about=1),  # type: ignore[list-item]
        waiting.for_pong(3),  # type: ignore[list-item]
    ]
    futures[1].cancel()
    waiting.close(ConnectionClosed(1001, "going"))
    for future in (futures[0], futures[2]):
        with pytest.raises(ConnectionClosed):
            await future
    assert (waiting._replies, waiting._acks, waiting._pongs, waiting._about) == ({}, {}, {}, {})
