# cython: language_level=3, binding=False, auto_pickle=False, boundscheck=False, wraparound=False, cdivision=True
"""The columns of a page by compiled code: what ``columns`` makes of it by numpy, byte for byte.

All memory is had first; then the rows are walked through twice without the interpreter's lock, so that the event
loop goes on meanwhile. By numpy the lock would change hands a hundred times for a block.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport rint
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from framehub.journal import brief
from framehub.journal.record import DIRECTIONS, DTYPE, KINDS, PROTOCOLS, RECORDED

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "columns are written as this machine has them, and Arrow wants the lowest byte first"
    #endif

    static inline uint32_t word(const char *at)
    {
        const unsigned char *byte = (const unsigned char *)at;
        return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
    }

    static inline double seconds(const char *at)
    {
        uint64_t bits = (uint64_t)word(at) << 32 | word(at + 4);
        double number;
        memcpy(&number, &bits, 8);
        return number;
    }
    """
    uint32_t word(const char *at) nogil
    double seconds(const char *at) nogil

cdef packed struct Brief:  # of ``brief.BRIEF``, its numbers not in this machine's order
    char now[8]
    char exchange[16]
    char size[4]
    char label[4]

cdef packed struct Label:  # ``brief.LABEL``
    char link[8]
    uint8_t protocol
    uint8_t version
    uint8_t direction
    uint8_t kind
    int32_t user
    int32_t service
    int32_t function
    int64_t ref
    uint16_t payload_at
    uint16_t query_at
    uint16_t endpoint
    uint16_t error
    uint16_t coder

cdef packed struct Fixed:  # ``record.DTYPE``
    int64_t time_ns
    int64_t mono_ns
    char link[8]
    uint8_t protocol
    uint16_t version
    uint8_t direction
    int32_t user
    int32_t service
    int32_t function
    uint8_t kind
    int16_t head
    int64_t id
    int64_t ref
    int64_t key
    int16_t code
    int32_t bytes
    int32_t payload_at
    int32_t payload_bytes
    int32_t files
    char exchange[16]
    char parent[16]
    uint8_t recorded

if (sizeof(Brief), sizeof(Label), sizeof(Fixed)) != (brief.BRIEF_BYTES, brief.LABEL.itemsize, DTYPE.itemsize):
    raise ImportError("rows are not laid out as this was compiled for")

cdef struct Head:  # what the first byte of an MFP frame tells
    int16_t kind
    int16_t ref
    int16_t key
    int16_t code
    int16_t files
    int16_t size

cdef enum:
    HUB_HEAD = 6
    WHOLE = 255
    READ_BEYOND = 16
    TOO_MANY = 1 << 30


cdef Head[256] HEADS
cdef uint8_t[256] HUB_KINDS
cdef uint8_t MFP = PROTOCOLS.index("mfp"), HUB = PROTOCOLS.index("hub")

if (READ_BEYOND, WHOLE, RECORDED[0]) != (brief.READ_BEYOND, brief.WHOLE, "full"):
    raise ImportError("this was compiled for other numbers")
for _head in range(256):
    HEADS[_head].kind, HEADS[_head].ref, HEADS[_head].key = (
        brief.MFP_KIND[_head], brief.MFP_REF[_head], brief.MFP_KEY[_head]
    )
    HEADS[_head].code, HEADS[_head].files, HEADS[_head].size = (
        brief.MFP_CODE[_head], brief.MFP_FILES[_head], brief.MFP_SIZE[_head]
    )
    HUB_KINDS[_head] = brief.HUB_KIND[_head]


cdef void unfold(const Brief *row, const Label *label, const char *frame, int64_t ahead, Fixed *made) noexcept nogil:
    """What is brief of a row, and its frame, tell all of it."""
    cdef Head head
    memset(made, 0, sizeof(Fixed))
    made.mono_ns = <int64_t>rint(seconds(row.now) * 1e9)
    made.time_ns = made.mono_ns + ahead
    memcpy(made.link, label.link, 8)
    made.protocol, made.version, made.direction = label.protocol, label.version, label.direction
    made.user, made.service, made.function = label.user, label.service, label.function
    made.kind = label.kind
    made.head = made.code = -1
    made.id = made.ref = made.key = -1
    made.files = made.payload_at = made.payload_bytes = -1
    made.bytes = <int32_t>word(row.size)
    memcpy(made.exchange, row.exchange, 16)
    if label.protocol == MFP:
        head = HEADS[<uint8_t>frame[0]]
        made.kind, made.code, made.files = <uint8_t>head.kind, head.code, head.files
        made.head = <uint8_t>frame[0]
        made.id = word(frame + 1)
        if head.ref:
            made.ref = word(frame + head.ref)
        if head.key:
            made.key = word(frame + head.key)
        if head.size and word(frame + head.size):
            made.payload_at = head.size + 4
            made.payload_bytes = <int32_t>word(frame + head.size)
    elif label.protocol == HUB:
        made.head = <uint8_t>frame[4]
        made.kind = HUB_KINDS[<uint8_t>frame[4]]
        made.id = word(frame)
        made.key = <uint8_t>frame[5]
        made.ref = label.ref
        if made.bytes != HUB_HEAD:
            made.payload_at = HUB_HEAD
            made.payload_bytes = made.bytes - HUB_HEAD
    elif 4 <= label.payload_at <= made.bytes:
        made.payload_at = label.payload_at
        made.payload_bytes = <int32_t>word(frame + label.payload_at - 4)


cdef class Buffer:
    """One buffer of a column: as many bytes as were asked for."""

    cdef bytes data
    cdef char *at

    def __init__(self, Py_ssize_t size):
        self.data = PyBytes_FromStringAndSize(NULL, size)
        self.at = PyBytes_AS_STRING(self.data)
        memset(self.at, 0, size)


cdef class Bits:
    """Which values there are, and how many are not."""

    cdef Buffer buffer
    cdef char *at
    cdef Py_ssize_t nulls

    def __init__(self, Py_ssize_t count):
        self.buffer = Buffer((count + 7) // 8)
        self.at = self.buffer.at
        self.nulls = 0

    cdef inline void set(self, Py_ssize_t row, bint present) noexcept nogil:
        if present:
            self.at[row >> 3] |= <char>(1 << (row & 7))
        else:
            self.nulls += 1

    cdef bytes told(self):
        return self.buffer.data if self.nulls else b""


cdef class Known:
    """Texts that a column can have, by number."""

    cdef list kept
    cdef Py_ssize_t count
    cdef Buffer places, sizes_
    cdef const char **texts
    cdef int32_t *sizes

    def __init__(self, list texts):
        cdef Py_ssize_t count = len(texts), number
        self.kept, self.count = texts[:count], count
        self.places, self.sizes_ = Buffer(sizeof(char *) * count), Buffer(4 * count)
        self.texts, self.sizes = <const char **>self.places.at, <int32_t *>self.sizes_.at
        for number in range(count):
            text = <bytes?>self.kept[number]
            self.texts[number] = PyBytes_AS_STRING(text)
            self.sizes[number] = <int32_t>PyBytes_GET_SIZE(text)


cdef Known WORDS_OF_KINDS = Known([word_.encode() for word_ in KINDS])
cdef Known WORDS_OF_DIRECTIONS = Known([word_.encode() for word_ in DIRECTIONS])
cdef Known WORDS_OF_PROTOCOLS = Known([word_.encode() for word_ in PROTOCOLS])
cdef Known WORDS_OF_RECORDED = Known([word_.encode() for word_ in RECORDED])


cdef class Texts:
    """A column of texts, each of them known."""

    cdef Bits bits
    cdef Buffer ends, letters
    cdef Buffer chosen
    cdef Py_ssize_t count
    cdef bint nullable
    cdef Known known
    cdef int64_t total

    def __init__(self, Py_ssize_t count, Known known, bint nullable):
        """Where ``nullable`` the first of the known ones stands for none."""
        self.count = count
        self.bits = Bits(count)
        self.ends = Buffer(4 * (count + 1))
        self.chosen = Buffer(2 * count)
        self.nullable = nullable
        self.known = known
        self.total = 0

    cdef inline void choose(self, Py_ssize_t row, uint16_t number) noexcept nogil:
        self.bits.set(row, not self.nullable or number != 0)
        if number < self.known.count:
            self.total += self.known.sizes[number]
        else:
            self.total = TOO_MANY
        (<int32_t *>self.ends.at)[row + 1] = <int32_t>self.total
        (<uint16_t *>self.chosen.at)[row] = number

    cdef bint fits(self):
        return self.total < TOO_MANY

    cdef int have(self) except -1:
        self.letters = Buffer(self.total)
        return 0

    cdef void fill(self) noexcept nogil:
        cdef Py_ssize_t row
        cdef uint16_t number
        for row in range(self.count if self.total else 0):
            number = (<uint16_t *>self.chosen.at)[row]
            memcpy(
                self.letters.at + (<int32_t *>self.ends.at)[row],
                self.known.texts[number],
                self.known.sizes[number],
            )

    cdef tuple column(self):
        return self.bits.nulls, (self.bits.told(), self.ends.data, self.letters.data)


cdef Buffer steps(Py_ssize_t count, int width):
    cdef Buffer made = Buffer(4 * (count + 1))
    cdef Py_ssize_t row
    for row in range(count + 1):
        (<int32_t *>made.at)[row] = <int32_t>(row * width)
    return made


cdef class Numbers:
    """A column of numbers of one width; -1 is null, where it may be."""

    cdef Buffer buffer
    cdef Bits bits
    cdef bint nullable

    def __init__(self, Py_ssize_t count, int width, bint nullable):
        self.buffer = Buffer(width * count)
        self.bits = Bits(count)
        self.nullable = nullable

    cdef inline void put2(self, Py_ssize_t row, int16_t number) noexcept nogil:
        (<int16_t *>self.buffer.at)[row] = number
        self.bits.set(row, not self.nullable or number != -1)

    cdef inline void put4(self, Py_ssize_t row, int32_t number) noexcept nogil:
        (<int32_t *>self.buffer.at)[row] = number
        self.bits.set(row, not self.nullable or number != -1)

    cdef inline void put8(self, Py_ssize_t row, int64_t number) noexcept nogil:
        (<int64_t *>self.buffer.at)[row] = number
        self.bits.set(row, not self.nullable or number != -1)

    cdef inline void put_name(self, Py_ssize_t row, const char *name) noexcept nogil:
        """Sixteen bytes; zeros are null."""
        cdef uint64_t[2] halves
        memcpy(halves, name, 16)
        memcpy(self.buffer.at + 16 * row, name, 16)
        self.bits.set(row, halves[0] != 0 or halves[1] != 0)

    cdef tuple column(self):
        return self.bits.nulls, (self.bits.told(), self.buffer.data)


def fold(
    const unsigned char[::1] briefs,
    const unsigned char[::1] frames,
    const unsigned char[::1] labels,
    list texts,
    int64_t ahead,
    list whole,
):
    """For each column of the journal how many of it are null, and its buffers; the last one is without frames.

    ``frames`` are followed by zeros; ``ahead`` is how far the wall clock is ahead of the monotonic one; ``whole``
    are the rows that are not brief. None where that does not fit together.
    """
    cdef Py_ssize_t count = briefs.shape[0] // sizeof(Brief), row, others = 0, at = 0, most = len(whole)
    cdef Py_ssize_t known = labels.shape[0] // sizeof(Label), end = frames.shape[0]
    cdef const Brief *brief_
    cdef const Label *label
    cdef const char *frame
    cdef Fixed told
    cdef int32_t size, length
    cdef bint fits = True
    if not count:
        return None
    cdef bytes fixed = b"".join([one.fixed for one in whole])
    cdef Known queries = Known([one.query or b"" for one in whole])
    cdef Buffer has_query = Buffer(most), refusals = Buffer(2 * most)
    for row, one in enumerate(whole):
        has_query.at[row] = one.query is not None
        (<uint16_t *>refusals.at)[row] = one.refused
    if PyBytes_GET_SIZE(fixed) != most * <Py_ssize_t>sizeof(Fixed):
        return None
    cdef const Fixed *rest = <const Fixed *>PyBytes_AS_STRING(fixed)
    cdef Known known_texts = Known(texts)
    cdef Numbers time_ns = Numbers(count, 8, False), mono_ns = Numbers(count, 8, False)
    cdef Numbers version = Numbers(count, 2, False), user = Numbers(count, 4, False)
    cdef Numbers service = Numbers(count, 4, True), function = Numbers(count, 4, True)
    cdef Numbers head = Numbers(count, 2, True), id_ = Numbers(count, 8, True), ref = Numbers(count, 8, True)
    cdef Numbers key = Numbers(count, 8, True), code = Numbers(count, 2, True)
    cdef Numbers bytes_ = Numbers(count, 4, False), files = Numbers(count, 4, True)
    cdef Numbers payload_at = Numbers(count, 4, True), payload_bytes = Numbers(count, 4, True)
    cdef Numbers exchange = Numbers(count, 16, True), parent = Numbers(count, 16, True)
    cdef Buffer link = Buffer(8 * count), ends = Buffer(4 * (count + 1)), query_ends = Buffer(4 * (count + 1))
    cdef Bits has_raw = Bits(count), queried = Bits(count)
    cdef Texts protocol = Texts(count, WORDS_OF_PROTOCOLS, False)
    cdef Texts direction = Texts(count, WORDS_OF_DIRECTIONS, False)
    cdef Texts kind = Texts(count, WORDS_OF_KINDS, False), recorded = Texts(count, WORDS_OF_RECORDED, False)
    cdef Texts endpoint = Texts(count, known_texts, True), error = Texts(count, known_texts, True)
    cdef Texts coder = Texts(count, known_texts, True), refused = Texts(count, known_texts, True)
    cdef int32_t *starts = <int32_t *>ends.at
    cdef int32_t *query_starts = <int32_t *>query_ends.at
    with nogil:
        for row in range(count):
            brief_ = <const Brief *>&briefs[row * <Py_ssize_t>sizeof(Brief)]
            size = <int32_t>word(brief_.size)
            if word(brief_.label) >= <uint32_t>known or at + max(size, 0) + READ_BEYOND > end:
                fits = False
                break
            label = <const Label *>&labels[word(brief_.label) * <Py_ssize_t>sizeof(Label)]
            frame = <const char *>&frames[at]
            length = 0
            if label.protocol == WHOLE:
                if others == most:
                    fits = False
                    break
                told = rest[others]
                length = queries.sizes[others]
                queried.set(row, has_query.at[others])
                refused.choose(row, (<uint16_t *>refusals.at)[others])
                others += 1
            else:
                unfold(brief_, label, frame, ahead, &told)
                if label.query_at:
                    if not 4 <= label.query_at <= size:
                        fits = False
                        break
                    length = <int32_t>word(frame + label.query_at - 4)
                    if not 0 <= length <= size - label.query_at:
                        fits = False
                        break
                queried.set(row, label.query_at != 0)
                refused.choose(row, 0)
            time_ns.put8(row, told.time_ns)
            mono_ns.put8(row, told.mono_ns)
            memcpy(link.at + 8 * row, told.link, 8)
            protocol.choose(row, told.protocol)
            version.put2(row, <int16_t>told.version)
            direction.choose(row, told.direction)
            user.put4(row, told.user)
            service.put4(row, told.service)
            function.put4(row, told.function)
            endpoint.choose(row, label.endpoint)
            kind.choose(row, told.kind)
            head.put2(row, told.head)
            id_.put8(row, told.id)
            ref.put8(row, told.ref)
            key.put8(row, told.key)
            code.put2(row, told.code)
            query_starts[row + 1] = query_starts[row] + length
            coder.choose(row, label.coder)
            bytes_.put4(row, told.bytes)
            payload_at.put4(row, told.payload_at)
            payload_bytes.put4(row, told.payload_bytes)
            files.put4(row, told.files)
            error.choose(row, label.error)
            exchange.put_name(row, told.exchange)
            parent.put_name(row, told.parent)
            recorded.choose(row, told.recorded)
            has_raw.set(row, size >= 0)
            at += max(size, 0)
            starts[row + 1] = <int32_t>at
    columns = (protocol, direction, endpoint, kind, coder, error, refused, recorded)
    if not fits or others != most or any([not (<Texts>column).fits() for column in columns]):
        return None
    for column in columns:
        (<Texts>column).have()
    cdef Buffer query = Buffer(query_starts[count])
    others = 0
    with nogil:
        protocol.fill()
        direction.fill()
        endpoint.fill()
        kind.fill()
        coder.fill()
        error.fill()
        refused.fill()
        recorded.fill()
        for row in range(count if query_starts[count] else 0):
            brief_ = <const Brief *>&briefs[row * <Py_ssize_t>sizeof(Brief)]
            label = <const Label *>&labels[word(brief_.label) * <Py_ssize_t>sizeof(Label)]
            frame = <const char *>&frames[starts[row]] + label.query_at
            if label.protocol == WHOLE:
                frame = queries.texts[others]
                others += 1
            memcpy(query.at + query_starts[row], frame, query_starts[row + 1] - query_starts[row])
    cdef bytes nothing = b"", names = steps(count, 16).data
    return [
        time_ns.column(),
        mono_ns.column(),
        (0, (nothing, steps(count, 8).data, link.data)),
        protocol.column(),
        version.column(),
        direction.column(),
        user.column(),
        service.column(),
        function.column(),
        endpoint.column(),
        kind.column(),
        head.column(),
        id_.column(),
        ref.column(),
        key.column(),
        code.column(),
        (queried.nulls, (queried.told(), query_ends.data, query.data)),
        coder.column(),
        bytes_.column(),
        payload_at.column(),
        payload_bytes.column(),
        files.column(),
        error.column(),
        refused.column(),
        (exchange.bits.nulls, (exchange.bits.told(), names, exchange.buffer.data)),
        (parent.bits.nulls, (parent.bits.told(), names, parent.buffer.data)),
        recorded.column(),
        (has_raw.nulls, (has_raw.told(), ends.data)),
    ]


def join(list columns, Py_ssize_t rows, Py_ssize_t frames_bytes, head):
    """What ``message.assemble`` makes of columns, but for the frames: they are the last buffer of the last one."""
    cdef bytes data = head.data
    cdef Py_ssize_t at = 0, size, begin = PyBytes_GET_SIZE(data)
    cdef list buffers = []
    for nulls, ours in columns:
        buffers.extend(ours)
    for buffer in buffers:
        at += PyBytes_GET_SIZE(buffer) + 7 & ~7
    cdef bytes made = PyBytes_FromStringAndSize(NULL, begin + at)
    cdef char *front = PyBytes_AS_STRING(made)
    memcpy(front, PyBytes_AS_STRING(data), begin)
    cdef int64_t *nodes = <int64_t *>(front + <Py_ssize_t>head.nodes)
    cdef int64_t *places = <int64_t *>(front + <Py_ssize_t>head.buffers)
    (<int64_t *>(front + <Py_ssize_t>head.body_length))[0] = at + (frames_bytes + 7 & ~7)
    (<int64_t *>(front + <Py_ssize_t>head.rows))[0] = rows
    if len(buffers) + 1 != head.buffer_count:
        raise ValueError("other columns than the schema has")
    for number, (nulls, _) in enumerate(columns):
        nodes[2 * number], nodes[2 * number + 1] = rows, nulls
    at = 0
    for number, buffer in enumerate(buffers):
        size = PyBytes_GET_SIZE(buffer)
        places[2 * number], places[2 * number + 1] = at, size
        memcpy(front + begin + at, PyBytes_AS_STRING(buffer), size)
        memset(front + begin + at + size, 0, -size & 7)
        at += size + 7 & ~7
    places[2 * len(buffers)], places[2 * len(buffers) + 1] = at, frames_bytes
    return made
