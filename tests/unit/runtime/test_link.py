from framehub.runtime.bytestream import ByteStreamLink
from framehub.runtime.link import Link, LinkOwner
from framehub.runtime.memory import MemoryLink
from framehub.runtime.peer import Peer
from framehub.runtime.websocket import WebSocketLink


def carriers(
    link: MemoryLink, socket: WebSocketLink, stream: ByteStreamLink, peer: Peer
) -> tuple[Link, Link, Link, LinkOwner]:
    """That this type-checks says that the signatures agree too."""
    return link, socket, stream, peer


def test_every_carrier_keeps_the_contract() -> None:
    for contract, kinds in ((Link, (MemoryLink, WebSocketLink, ByteStreamLink)), (LinkOwner, (Peer,))):
        names = {name for name in vars(contract) if not name.startswith("_")} - {"full"}
        for kind in kinds:
            assert names <= set(dir(kind))
