"""Where a journal lies on disk: nodes, segments, the lock (spec/journal.md, section 1).

DIR/node.json                    who writes here
DIR/lock                         held by the one writer
DIR/00000000000000000001.parquet a sealed segment, named by its first row
DIR/00000000000000087341.fhj     a segment of blocks, not sealed yet
"""

import errno
import fcntl
import json
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from framehub.errors import JournalError, JournalLocked
from framehub.journal.record import VERSION
from framehub.private import NotAFile, anothers, new_file, open_file, read_file, shared

NODE_FILE: Final = "node.json"
LOCK_FILE: Final = "lock"
_NAME: Final = re.compile(r"(\d{20})\.(fhj|parquet)")

SegmentKind: TypeAlias = Literal["blocks", "parquet"]


class Node(NamedTuple):
    """One writer's directory, and what its ``node.json`` says."""

    directory: Path
    name: str
    salt: int

    def stand(self) -> None:
        """Look whether this is still its directory: no reader and no writer takes one without ``node.json``.

        Raises:
            JournalError: it is nobody's, or another's.
        """
        try:
            found = _told(self.directory)
        except NotAFile:
            raise JournalError(f"{NODE_FILE} was replaced") from None
        except OSError:
            return  # nothing is known: no descriptors are left, perhaps
        if found != self:
            raise JournalError(f"{NODE_FILE} was {'removed' if found is None else 'replaced'}")


class Lock(NamedTuple):
    """The lock of a node's directory, held."""

    path: Path
    fd: int

    def stand(self) -> None:
        """Look whether it is where it was: somebody else can take one that is in its place.

        Raises:
            OSError: it is not.
        """
        stand(self.fd, self.path)


class Segment(NamedTuple):
    """One segment of a node; ``first_seq`` is what its name says."""

    path: Path
    first_seq: int
    kind: SegmentKind


def blocks_path(directory: Path, first_seq: int) -> Path:
    """Where the segment that begins with this row is written."""
    return directory / f"{first_seq:020d}.fhj"


def parquet_path(directory: Path, first_seq: int) -> Path:
    """Where that segment is sealed."""
    return directory / f"{first_seq:020d}.parquet"


def first_seq_of(name: str) -> int | None:
    """The number of the first row of the segment with this name; None if it is no segment's."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def segments(directory: Path, *, hidden: bool = False) -> list[Segment]:
    """The node's segments in order; of a number that has both files, the Parquet (``hidden``: both)."""
    found = []
    for name, is_file in _listing(directory):
        if match := _NAME.fullmatch(name):
            if not is_file:
                raise JournalError(f"{directory / name}: {NotAFile(directory / name).strerror}")
            found.append(_segment(directory, match))
    found.sort(key=lambda segment: (segment.first_seq, segment.kind))
    if hidden:
        return found
    sealed = {segment.first_seq for segment in found if segment.kind == "parquet"}
    return [segment for segment in found if segment.kind == "parquet" or segment.first_seq not in sealed]


def _segment(directory: Path, match: re.Match[str]) -> Segment:
    kind: SegmentKind = "parquet" if match[2] == "parquet" else "blocks"
    return Segment(directory / match[0], int(match[1]), kind)


def _listing(directory: Path) -> list[tuple[str, bool]]:
    # A listing taken while a segment is sealed may show neither its old name nor its new one, as the
    # directory is read piece by piece. Two equal listings in a row cannot both have missed it.
    try:
        before = _names(directory)
        while (now := _names(directory)) != before:
            before = now
    except OSError as exc:
        raise JournalError(f"{directory}: {exc.strerror}") from exc
    return now


def _names(directory: Path) -> list[tuple[str, bool]]:
    """Names, and whether each is a regular file's."""
    with os.scandir(directory) as entries:
        return sorted((entry.name, entry.is_file(follow_symlinks=False)) for entry in entries)


def nodes(path: Path | str) -> list[Node]:
    """The nodes at ``path``: itself a node's directory, or a directory of such; in order of their names.

    Raises:
        JournalError: there is no journal, there are some within one, or two directories claim one name.
    """
    root = Path(path)
    if not root.is_dir():
        raise JournalError(f"{root}: {'not a directory' if root.exists() else 'no such journal'}")
    within = journals_in(root)
    if (own := load_node(root)) is not None:
        if within:
            names = ", ".join(child.name for child in within)
            raise JournalError(
                f"{root}: the journal of node {own.name!r}, with others in it: {names}; name one"
            )
        return [own]
    found: dict[str, Node] = {}
    for child in within:
        if (node := load_node(child)) is None:
            continue
        if node.name in found:
            raise JournalError(f"{child} and {found[node.name].directory} are both named {node.name!r}")
        found[node.name] = node
    if not found:
        raise JournalError(f"{root}: no journal here (no {NODE_FILE} in it or one level below)")
    return [found[name] for name in sorted(found)]


def journals_in(root: Path) -> list[Path]:
    """Directories of nodes one level below, in order of their names."""
    try:
        with os.scandir(root) as entries:
            children = sorted(entry.path for entry in entries if entry.is_dir())
    except OSError as exc:
        raise JournalError(f"{root}: {exc.strerror}") from exc
    return [Path(child) for child in children if os.path.lexists(f"{child}/{NODE_FILE}")]


def load_node(directory: Path) -> Node | None:
    """Read ``node.json``; None if the directory has none."""
    try:
        return _told(directory)
    except OSError as exc:
        raise JournalError(f"{directory / NODE_FILE}: {exc.strerror}") from exc


def _told(directory: Path) -> Node | None:
    file = directory / NODE_FILE
    try:
        told = json.loads(read_file(file))
        if (version := told["version"]) != VERSION:
            raise JournalError(f"{file}: journal version {version}; this program reads version {VERSION}")
        name, salt = told["node"], int(told["salt"], 16)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except KeyError as exc:
        raise JournalError(f"{file}: it says no {exc}; restore it from a segment's opening") from exc
    except (ValueError, TypeError) as exc:
        raise JournalError(f"{file}: cannot be read ({exc}); restore it from a segment's opening") from exc
    if not isinstance(name, str) or not name:
        raise JournalError(f"{file}: the node has no name")
    return Node(directory, name, salt)


def open_node(directory: Path, name: str | None) -> Node:
    """The node whose directory it is; a new one becomes that of ``name``, or of a name that is made up.

    Raises:
        JournalError: it is another's, or it has segments and no node.
    """
    known = load_node(directory)
    if known is not None:
        if name is not None and name != known.name:
            raise JournalError(f"{directory}: the journal of node {known.name!r}, not of {name!r}")
        return known
    if segments(directory):
        raise JournalError(f"{directory}: has segments but no {NODE_FILE}; restore it first")
    if within := journals_in(directory):
        names = ", ".join(child.name for child in within)
        raise JournalError(
            f"{directory}: there are journals in it already: {names}; write beside them, to {directory}/NAME"
        )
    name = name or f"{socket.gethostname()}-{secrets.token_hex(3)}"
    return create_node(directory, name, secrets.randbits(32))


def create_node(directory: Path, name: str, salt: int) -> Node:
    """Write ``node.json`` so that it is whole or absent."""
    told = {"node": name, "version": VERSION, "salt": f"{salt:08x}"}
    replace(directory / NODE_FILE, json.dumps(told).encode() + b"\n")
    return Node(directory, name, salt)


def replace(file: Path, data: bytes) -> None:
    """Write a small file whole: a temporary name, sync, rename, sync of the directory."""
    temporary = file.with_name(file.name + ".tmp")
    with new_file(temporary) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(file)
    sync_directory(file.parent)


def sync_directory(directory: Path) -> None:
    """Make names created, renamed or removed in the directory survive a power cut."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def stand(fd: int, path: Path) -> None:
    """Look whether an open file still has its name; as long as it is open, its number is no other file's.

    Raises:
        OSError: it was removed, or another file is in its place.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise OSError(errno.ENOENT, f"{path.name} was removed, or its directory was") from None
    except OSError:
        return  # nothing is known of it
    if not os.path.samestat(os.fstat(fd), found):
        raise OSError(errno.ESTALE, f"{path.name} was replaced")


@contextmanager
def locked(directory: Path) -> Iterator[Lock]:
    """Be the one writer of this directory.

    Raises:
        JournalLocked: another process, or another writer of this one, is.
        JournalError: it is another user's, others can write there, or the lock is no file.
        OSError: the lock cannot be opened.
    """
    if (why := shared(directory) or anothers(directory)) is not None:
        raise JournalError(why)
    path = directory / LOCK_FILE
    try:
        fd = open_file(path, os.O_RDWR | os.O_CREAT)
    except NotAFile as exc:
        raise JournalError(f"{path}: {exc.strerror}") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
            who = f"process {holder}" if holder else "another process"
            raise JournalLocked(f"{directory}: {who} writes this journal") from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield Lock(path, fd)
    finally:
        os.close(fd)
