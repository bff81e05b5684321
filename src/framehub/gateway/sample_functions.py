"""Sample remote functions for ``framehub demo``: some arithmetic, something with a file, something slow."""

import time
from hashlib import sha256

from framehub.runtime.files import File
from framehub.runtime.worker import Worker

worker = Worker()
LONGEST = 60.0


@worker.function(name="math.factor")
def factor(number: int) -> list[int]:
    """The prime factors of a whole number above zero."""
    if not 1 <= number <= 10**12:
        raise ValueError(f"{number} is not between 1 and 10**12")
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found + [number] * (number > 1)


@worker.function(name="math.divide")
def divide(a: float, b: float = 2.0) -> float:
    """Divide a by b; by zero it fails."""
    return a / b


@worker.function(name="files.sum")
def digest(document: File) -> File:
    """The SHA-256 of a file, as a file."""
    text = f"{sha256(document.data).hexdigest()}  {document.name}\n"
    return File(text.encode(), "sum.txt", "text/plain")


@worker.function(name="nap")
def nap(seconds: float) -> str:
    """Sleep, a process all to itself."""
    time.sleep(min(seconds, LONGEST))
    return "well rested"
