"""Functions of made-up traffic: what they are asked and what they answer, in the bytes of their coders."""

import struct
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from framehub.journal.rpc_traffic import Function
from framehub.journal.traffic import pick
from framehub.mfp.frames import Files
from framehub.rpc import block

_INT: Final = struct.Struct(">i")
_DOUBLE: Final = struct.Struct(">d")
_json: Final = msgspec.json.Encoder().encode
_msgpack: Final = msgspec.msgpack.Encoder().encode
_WORDS: Final = ("amber", "birch", "cloud", "delta", "ember", "fjord", "grove", "harbour")


class Sample(NamedTuple):
    """One question and its answer: as bytes for workers, as data and files for MFP."""

    argument: bytes
    result: bytes
    data: Any
    answer: Any
    files: Files = ()
    answer_files: Files = ()


NAMES: Final = ("picture.jpg", "image/jpeg")
"""Name and type of every file here."""


def _square(dice: Random) -> Sample:
    number = dice.randrange(40_000)
    return Sample(_INT.pack(number), _INT.pack(number * number), number, number * number)


def _upper(dice: Random) -> Sample:
    text = " ".join(dice.choices(_WORDS, k=4))
    size = _INT.pack(len(text))
    return Sample(size + text.encode(), size + text.upper().encode(), text, text.upper())


def _mean(dice: Random) -> Sample:
    numbers = [float(dice.randrange(100)) for _ in range(4)]
    mean = sum(numbers) / 4
    return Sample(_INT.pack(4) + b"".join(map(_DOUBLE.pack, numbers)), _DOUBLE.pack(mean), numbers, mean)


def _price(dice: Random) -> Sample:
    item = dice.randint(1, 5000)
    answer = {"item": item, "price": item % 997 / 10, "currency": "EUR"}
    return Sample(b"%d" % item, _json(answer), item, answer)


def _charge(dice: Random) -> Sample:
    data = {"account": dice.randint(1, 400), "cents": dice.randint(100, 90_000)}
    answer = {"receipt": f"R{dice.randrange(10**9):09d}"}
    return Sample(_json(data), _json(answer), data, answer)


def _rank(dice: Random) -> Sample:
    words = dice.sample(_WORDS, 5)
    return Sample(_msgpack(words), _msgpack(sorted(words)), words, sorted(words))


def _thumbnail(dice: Random) -> Sample:
    width = dice.choice((64, 128, 256))
    picture = dice.randbytes(dice.randint(300, 3000))
    small = picture[: len(picture) // 4]
    argument = block.join("thumbnail", b"%d" % width, (block.Attached(0, picture, *NAMES),))
    result = block.join("thumbnail", b"null", (block.Attached(0, small, *NAMES),))
    return Sample(argument, result, width, None, ((0, picture),), ((0, small),))


OFFERED: Final[tuple[tuple[Function, int, Callable[[Random], Sample]], ...]] = (
    # function, how often it is called, one call of it
    (Function("stock.price", "json", "json", median_ms=8), 30, _price),
    (Function("square", "Int", "Int", median_ms=1), 25, _square),
    (Function("text.upper", "String", "String", median_ms=2), 15, _upper),
    (Function("stats.mean", "List<Double>", "Double", median_ms=3), 10, _mean),
    (Function("rank", "msgpack", "msgpack", median_ms=15), 10, _rank),
    (Function("thumbnail", "envelope", "envelope", median_ms=60), 6, _thumbnail),
    (Function("pay.charge", "json", "json", median_ms=120, once=True), 4, _charge),
)
FUNCTIONS: Final = tuple(function for function, _, _ in OFFERED)
_ENTRIES: Final = [(function, make) for function, _, make in OFFERED]
_WEIGHTS: Final = [sum(weight for _, weight, _ in OFFERED[: n + 1]) for n in range(len(OFFERED))]


def chosen(dice: Random) -> tuple[Function, Sample]:
    """Some function, and one call of it."""
    function, make = pick(dice, _ENTRIES, _WEIGHTS)
    return function, make(dice)


def repeatable(dice: Random) -> tuple[Function, Sample]:
    """The same of a function that may be run twice."""
    function, make = _ENTRIES[dice.randrange(3)]
    return function, make(dice)
