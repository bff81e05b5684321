# cython: language_level=3, binding=False, auto_pickle=False
"""Throws away what is left of a message: ``zmq_drop`` says why."""

from libc.stdint cimport uintptr_t

ctypedef int (*OfMessage)(void *) noexcept
ctypedef int (*Receive)(void *, void *, int) noexcept

cdef int _DONTWAIT = 1  # zmq.h: ZMQ_DONTWAIT


def drop(uintptr_t init, uintptr_t receive, uintptr_t more, uintptr_t close, uintptr_t socket, int most):
    """Receive at most so many parts of the message that the socket is in, by libzmq's own functions.

    How many those were, and whether others follow.
    """
    cdef void *message[8]  # a zmq_msg_t has 64 bytes, aligned as pointers are
    cdef int done = 0
    cdef bint follows = True
    (<OfMessage>init)(message)
    while done < most and follows and (<Receive>receive)(message, <void *>socket, _DONTWAIT) >= 0:
        done += 1
        follows = (<OfMessage>more)(message) != 0
    (<OfMessage>close)(message)
    return done, follows
