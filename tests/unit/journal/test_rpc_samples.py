from random import Random

import pytest

from framehub.journal.rpc_samples import FUNCTIONS, OFFERED, chosen, repeatable
from framehub.journal.rpc_traffic import Function
from framehub.rpc.block import Attached, Block
from framehub.rpc.coders import coder

BY_NAME = {function.name: make for function, _, make in OFFERED}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_argument_and_result_are_what_their_coders_read(function: Function) -> None:
    dice = Random(1)
    for _ in range(20):
        sample = BY_NAME[function.name](dice)
        argument = coder(function.argument).decode(sample.argument)
        result = coder(function.result).decode(sample.result)
        if function.argument == "envelope":
            assert [(file.key, file.data) for file in argument.files] == list(sample.files)
            assert [(file.key, file.data) for file in result.files] == list(sample.answer_files)
            assert isinstance(argument, Block)
            assert isinstance(argument.files[0], Attached)
            assert argument.endpoint == result.endpoint == function.name
            argument, result = argument.data, result.data
        assert (argument, result) == (sample.data, sample.answer)


def test_functions_are_chosen_by_their_weights() -> None:
    dice = Random(1)
    names = [chosen(dice)[0].name for _ in range(3000)]
    assert set(names) == set(BY_NAME)
    assert names.count("stock.price") > 5 * names.count("pay.charge")
    assert not any(repeatable(dice)[0].once for _ in range(200))
