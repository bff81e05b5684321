# cython: language_level=3, binding=False, auto_pickle=False, boundscheck=False, wraparound=False
"""Brief rows noted by compiled code: what ``notes`` does, each row with one call that nothing can interrupt.

The page at hand is two pieces of memory. A row is copied to both of them, or to neither, while the interpreter's lock
is held, so that the writer's thread can change the page between any two rows, and no other lock is needed.

Frames go past the caches. Another core reads them, so that the memory would have to come back from there before it
could be written to again: that would cost more than everything else here.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy

from msgspec import UNSET as _UNSET

from framehub.journal.brief import BRIEF_BYTES, MFP_BRIEF, READ_BEYOND
from framehub.mfp.envelope import Envelope as _Envelope

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include <time.h>
    #include <endian.h>
    #include <structmember.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    enum { FEW = 256, LINE = 64 };

    /* Copy a frame past the caches, but for the lines that it shares with its neighbours. */
    static inline void copy_past_caches(char *to, const char *from, size_t size)
    {
    #if defined(__SSE2__)
        size_t before = -(uintptr_t)to % LINE;
        if (size >= FEW) {
            memcpy(to, from, before);
            to += before, from += before, size -= before;
            for (; size >= LINE; to += LINE, from += LINE, size -= LINE) {
                for (int at = 0; at < LINE; at += 16) {
                    _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128((const __m128i *)(from + at)));
                }
            }
        }
    #endif
        memcpy(to, from, size);
    }

    /* One row in brief: now:8 exchange:16 size:4 label:4, all of them with the highest byte first. */
    static inline void put_brief(
        char *to, double now, uint64_t high, uint64_t low, int32_t size, uint32_t label)
    {
        uint64_t bits;
        memcpy(&bits, &now, 8);
        bits = htobe64(bits), high = htobe64(high), low = htobe64(low);
        uint32_t last[2] = {htobe32((uint32_t)size), htobe32(label)};
        memcpy(to, &bits, 8), memcpy(to + 8, &high, 8), memcpy(to + 16, &low, 8), memcpy(to + 24, last, 8);
    }

    /* A part of a message after its length: where the next one goes. */
    static inline char *put_part(char *to, const char *from, size_t size)
    {
        uint32_t length = htobe32((uint32_t)size);
        memcpy(to, &length, 4);
        copy_past_caches(to + 4, from, size);
        return to + 4 + size;
    }

    /* Eight bytes as a number, the highest first. */
    static inline uint64_t half(const char *at)
    {
        uint64_t number;
        memcpy(&number, at, 8);
        return be64toh(number);
    }

    /* Where a value has this field, by its class: what a member descriptor knows. */
    static inline Py_ssize_t place_of(PyObject *member)
    {
        return Py_IS_TYPE(member, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)member)->d_member->offset : -1;
    }

    static inline PyObject *field_at(PyObject *value, Py_ssize_t place)
    {
        return *(PyObject **)((char *)value + place);
    }

    /* What time.monotonic() says. */
    static inline double monotonic(void)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    }
    """
    void copy_past_caches(char *to, const char *from_, size_t size) nogil
    void put_brief(char *to, double now, uint64_t high, uint64_t low, int32_t size, uint32_t label) nogil
    char *put_part(char *to, const char *from_, size_t size) nogil
    uint64_t half(const char *at) nogil
    double monotonic() nogil
    Py_ssize_t place_of(PyObject *member)
    PyObject *field_at(PyObject *value, Py_ssize_t place)

cdef enum:
    BRIEF = 32
    FIRST_ROOM = 4096

if BRIEF != BRIEF_BYTES:
    raise ImportError("rows are not laid out as this was compiled for")

cdef object UNSET = _UNSET
cdef object Envelope = _Envelope
cdef bytes KINDS = bytes(MFP_BRIEF)
# Fields of an envelope are looked up by name for every frame; it always has them at the same place.
cdef Py_ssize_t ENDPOINT_AT = place_of(<PyObject *>_Envelope.__dict__["endpoint"])
cdef Py_ssize_t ERROR_AT = place_of(<PyObject *>_Envelope.__dict__["error"])
if min(ENDPOINT_AT, ERROR_AT) < 0:
    raise ImportError("envelopes are not laid out as this was compiled for")


cdef class Memory:
    """A piece of it, written from its beginning; what ``io.BytesIO`` does."""

    cdef char *data
    cdef Py_ssize_t size, room, exports, first_room

    def __init__(self, first_room=FIRST_ROOM):
        """``first_room`` is for so many bytes: it is not much that has not been written to."""
        self.first_room = first_room

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    cdef char *reach(self, Py_ssize_t more) except NULL:
        """Where so many bytes more can be written; they are there only when ``size`` says so."""
        cdef Py_ssize_t room
        cdef char *data
        if self.exports:
            raise BufferError("somebody looks at this memory")
        if self.size + more > self.room or self.data is NULL:
            room = max(self.first_room, 2 * self.room, self.size + more)
            data = <char *>PyMem_RawRealloc(self.data, room)
            if data is NULL:
                raise MemoryError
            self.data, self.room = data, room
        return self.data + self.size

    def write(self, data):
        """Add to what is there."""
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            memcpy(self.reach(view.len), view.buf, view.len)
            self.size += view.len
            return view.len
        finally:
            PyBuffer_Release(&view)

    def tell(self):
        """Bytes that are there."""
        return self.size

    def seek(self, Py_ssize_t at):
        """Go back to where so many bytes are there."""
        if not 0 <= at <= self.size:
            raise ValueError(f"there are {self.size} bytes, not {at}")
        self.size = at
        return at

    def getbuffer(self):
        """What is there; nothing can be written while somebody looks at it."""
        return memoryview(self)

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.data is NULL:
            self.reach(0)  # an address, though there is nothing at it
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer *_view):
        self.exports -= 1


cdef class Notes:
    """Where brief rows of a journal go."""

    cdef readonly Py_ssize_t light
    cdef public bint every_row, behind
    cdef public Py_ssize_t dropped
    cdef public object attend
    cdef Py_ssize_t full_rows, full_frames
    cdef Memory briefs, frames
    cdef object labels

    def __init__(self, light, full_at, _turning):
        """Rows of up to ``light`` bytes are brief; ``full_at`` says with how many bytes a page is full."""
        self.light = light
        self.full_rows, self.full_frames = full_at
        self.every_row, self.behind, self.dropped = True, False, 0
        self.attend = _nothing
        self.briefs, self.frames = self.memory()  # until a page is laid

    def memory(self):
        """For brief rows and for frames of a page."""
        return Memory(self.full_rows + BRIEF), Memory(self.full_frames + self.light + READ_BEYOND)

    def lay(self, page):
        """Rows go to this page from now on."""
        cdef Memory briefs = page.briefs, frames = page.frames
        labels = page.labels
        self.briefs, self.frames, self.labels = briefs, frames, labels

    def note(self, double now, exchange, bytes constant, texts, raw):
        """Add a brief row: its exchange in two halves, its endpoint, error and coder."""
        cdef uint64_t high, low
        cdef Py_buffer view
        if self.is_dropped():
            return
        high, low = exchange
        endpoint, error, coder = texts
        while True:
            labels = self.labels
            label = labels.number(constant, endpoint, error, coder)
            is_full = labels.is_full
            if labels is self.labels:  # or the page was changed meanwhile
                break
        PyObject_GetBuffer(raw, &view, PyBUF_SIMPLE)
        try:
            self.put(now, high, low, label, <const char *>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
        if is_full or self.is_due():
            self.attend()

    def link(self, link, constants, light):
        """What notes the frames of one MFP connection, those that came and those that went."""
        made = LinkNotes(self, link, constants, light)
        return made.took, made.gave

    def shapes(self, label):
        """What notes rows by their shapes."""
        return Shapes(self, label)

    cdef bint is_dropped(self):
        """Whether a row that comes now is only counted."""
        self.dropped += self.behind
        return self.behind

    cdef bint is_due(self):
        return (
            self.every_row
            or self.briefs.size >= self.full_rows
            or self.frames.size >= self.full_frames
        )

    cdef char *begin(
        self, double now, uint64_t high, uint64_t low, uint32_t label, Py_ssize_t size
    ) except NULL:
        """Where to write the frame of a row, which is there when that is done and ``end`` says so."""
        cdef char *brief = self.briefs.reach(BRIEF)
        cdef char *frame = self.frames.reach(size)
        put_brief(brief, now, high, low, <int32_t>size, label)
        return frame

    cdef void end(self, Py_ssize_t size) noexcept:
        self.briefs.size += BRIEF
        self.frames.size += size

    cdef int put(
        self, double now, uint64_t high, uint64_t low, uint32_t label, const char *raw, Py_ssize_t size
    ) except -1:
        copy_past_caches(self.begin(now, high, low, label, size), raw, size)
        self.end(size)
        return 0


cdef class LinkNotes:
    """The frames of one MFP connection that say what they are about: requests, answers, messages."""

    cdef Notes notes
    cdef uint64_t link
    cdef Py_ssize_t light
    cdef bytes came, went
    cdef object labels
    cdef dict came_known, went_known  # numbers of ``labels`` by endpoints

    def __init__(self, notes, link, constants, light):
        self.notes = notes
        self.link = link
        self.light = light
        self.came, self.went = constants

    def took(self, raw, exchange, opened, double now):
        """Note a frame that came; false if it cannot be brief."""
        if not self.is_brief(raw) or type(opened) is not Envelope:
            return False
        cdef PyObject *endpoint = field_at(<PyObject *>opened, ENDPOINT_AT)
        if endpoint is NULL or field_at(<PyObject *>opened, ERROR_AT) is not <PyObject *>UNSET:
            return False
        self.note(True, now, <bytes>raw, exchange, <object>endpoint)
        return True

    def gave(self, raw, exchange, endpoint):
        """Note a frame that went; false if it cannot be brief."""
        if not self.is_brief(raw):
            return False
        self.note(False, monotonic(), <bytes>raw, exchange, endpoint)
        return True

    cdef bint is_brief(self, raw):
        if not PyBytes_CheckExact(raw) or not 0 < PyBytes_GET_SIZE(raw) <= self.light:
            return False
        return KINDS[<unsigned char>PyBytes_AS_STRING(raw)[0]] == 2

    cdef int note(self, bint came, double now, bytes raw, uint64_t exchange, endpoint) except -1:
        cdef Notes notes = self.notes
        cdef bint is_full = False
        if notes.is_dropped():
            return 0
        while True:
            labels = notes.labels
            if labels is not self.labels:
                self.labels, self.came_known, self.went_known = labels, {}, {}
            known = self.came_known if came else self.went_known
            label = known.get(endpoint)
            if label is None:
                label = labels.number(self.came if came else self.went, endpoint, None, None)
                is_full = labels.is_full
                known[endpoint] = label
            if labels is notes.labels:  # nobody has changed the page meanwhile, and from here on nobody can
                break
        notes.put(
            now, self.link if exchange else 0, exchange, label, PyBytes_AS_STRING(raw), PyBytes_GET_SIZE(raw)
        )
        if is_full or notes.is_due():
            notes.attend()
        return 0


cdef class Shapes:
    """Rows of which many have one shape; each shape's label is asked for once, and again when labels begin anew."""

    cdef Notes notes
    cdef object label, labels
    cdef dict known  # numbers of ``labels`` by shapes

    def __init__(self, notes, label):
        self.notes = notes
        self.label = label

    def message(self, shape, bytes exchange, bytes identity, parts):
        """Note a message of functions: every part after its length; false if that is too long."""
        cdef list pieces = parts if type(parts) is list else list(parts)
        cdef Py_ssize_t size = 4 + PyBytes_GET_SIZE(identity)
        cdef bytes piece
        for piece in pieces:
            size += 4 + PyBytes_GET_SIZE(piece)
        if size > self.notes.light:
            return False
        if PyBytes_GET_SIZE(exchange) != 16:
            raise ValueError("an exchange is 16 bytes")
        if self.notes.is_dropped():
            return True
        cdef bint is_full = False
        cdef uint32_t number = self.number(shape, &is_full)
        # From here on nothing else can run until all of it is there.
        cdef const char *halves = PyBytes_AS_STRING(exchange)
        cdef char *to = self.notes.begin(monotonic(), half(halves), half(halves + 8), number, size)
        to = put_part(to, PyBytes_AS_STRING(identity), PyBytes_GET_SIZE(identity))
        for piece in pieces:
            to = put_part(to, PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))
        self.notes.end(size)
        if is_full or self.notes.is_due():
            self.notes.attend()
        return True

    def frame(self, shape, bytes link, uint64_t number, raw):
        """Note a frame; its exchange is the link's 8 bytes and a number."""
        if PyBytes_GET_SIZE(link) != 8:
            raise ValueError("a link is 8 bytes")
        if self.notes.is_dropped():
            return
        cdef bint is_full = False
        cdef Py_buffer view
        cdef uint32_t label
        PyObject_GetBuffer(raw, &view, PyBUF_SIMPLE)
        try:
            label = self.number(shape, &is_full)
            self.notes.put(
                monotonic(), half(PyBytes_AS_STRING(link)), number, label, <const char *>view.buf, view.len
            )
        finally:
            PyBuffer_Release(&view)
        if is_full or self.notes.is_due():
            self.notes.attend()

    cdef uint32_t number(self, shape, bint *is_full) except? 0xffffffff:
        """The number of a shape's label on the page at hand."""
        cdef Notes notes = self.notes
        while True:
            labels = notes.labels
            if labels is not self.labels:
                self.labels, self.known = labels, {}
            number = self.known.get(shape)
            if number is None:
                number = labels.number(*self.label(shape))
                is_full[0] = labels.is_full
                self.known[shape] = number
            if labels is notes.labels:  # nobody has changed the page meanwhile
                return number


def _nothing():
    """There is nobody to wake yet."""
