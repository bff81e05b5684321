import pytest

from framehub.errors import EndpointError
from framehub.gateway.sample import endpoints
from framehub.runtime.files import File
from framehub.runtime.memory import pair


async def test_files_get_receipts() -> None:
    client, _ = pair(theirs=endpoints)
    reply = await client.request("files.store", files={5: File(b"abc", "a.txt")})
    assert reply.data == {"stored": 1, "bytes": 3}
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert reply.files[0].data.decode() == f"{digest}  a.txt"


@pytest.mark.parametrize(
    ("endpoint", "data"), [("chat", "not an object"), ("chat", {"text": 5}), ("stock.price", "unicorn")]
)
async def test_nonsense_is_answered_with_the_endpoints_own_error(endpoint: str, data: object) -> None:
    client, _ = pair(theirs=endpoints)
    with pytest.raises(EndpointError) as caught:
        await client.request(endpoint, data)
    assert "reason" in caught.value.value


async def test_a_room_counts_what_was_said() -> None:
    client, _ = pair(theirs=endpoints)
    first = (await client.request("chat", {"text": "hi", "room": "test"})).data
    assert (await client.request("chat", {"text": "hi", "room": "test"})).data["messages"] == first[
        "messages"
    ] + 1
