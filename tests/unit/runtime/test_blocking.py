import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from framehub.errors import ConfigError, ConnectionClosed, RemoteFunctionError, RemoteTimeout
from framehub.runtime.functions import Functions
from tests.unit.runtime.rpc_parts import proxy, serving
from tests.unit.runtime.test_functions import QUICK, offered


async def test_plain_code_calls_from_any_number_of_threads() -> None:
    async with proxy(QUICK) as ours, serving(offered(), ours.workers_address):

        def work() -> None:
            with Functions.blocking(ours.clients_address, timeout=20) as functions:
                assert functions.call("square", 12) == 144
                assert functions.call("add", a=1, b=2) == 3.0
                assert functions.call_bytes("square", b"3") == b"9"
                assert functions.coders("square") == ("json", "json")
                assert len(functions.list()) == 6
                with pytest.raises(RemoteFunctionError):
                    functions.call("fail", "x")
                with pytest.raises(RemoteTimeout):
                    functions.call("slow", 60, timeout=0.2)
                with ThreadPoolExecutor(4) as pool:
                    found = list(pool.map(lambda n: functions.call("square", n), range(40)))
                assert found == [n * n for n in range(40)]
            functions.close()
            with pytest.raises(ConnectionClosed):
                functions.call("square", 1)

        await asyncio.to_thread(work)


def test_an_address_that_is_none_leaves_no_thread_behind() -> None:
    with pytest.raises(ConfigError):
        Functions.blocking("nowhere")
