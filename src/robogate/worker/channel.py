"""Framed messages over a socket between a parent and its child process, images in shared memory.

A frame is a fixed header, one JSON text and, where shared memory is not used, the arrays' bytes.
Large arrays go through an anonymous shared memory region, one copy in and one copy out. Calls and
replies alternate strictly, so that one region is enough: whoever received a frame has copied the
arrays out before it sends the next.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from robogate.contract.exact import exact_bytes, is_plain
from robogate.errors import RobogateError
from robogate.worker.encoding import ARRAY_TYPES, Array, DocumentCodec, refuse

#: Sparse: pages take memory only once they have been written.
REGION_BYTES = 64 << 20
#: Below this, a second copy through the socket costs less than touching the region.
INLINE_BYTES = 4096
MAX_TEXT_BYTES = 64 << 20

# Sequence number, length of the JSON text, bytes of arrays, 1 where those lie in the region.
_HEADER = struct.Struct("<QQQB")


class ChannelClosed(RobogateError):
    """The other end is gone."""

    default_code = "connection_lost"


class Documents:
    """The last document that went each way: the next one is nearly always the same.

    Only work is saved: the whole text is sent every time, and compared by whoever receives it.
    """

    def __init__(self) -> None:
        self._sent: tuple[bytes | None, Array] = (None, np.zeros(0, np.uint8))
        self._received: tuple[bytes, dict[str, Any]] = (b"{}", {})

    def text(self, document: Mapping[str, Any]) -> Array:
        """The document's JSON text, (n,) uint8."""
        exact = exact_bytes(document)
        if exact is None or exact != self._sent[0]:
            text = json.dumps(document, separators=(",", ":")).encode("utf-8")
            self._sent = (exact if is_plain(document) else None, np.frombuffer(text, np.uint8))
        return self._sent[1]

    def document(self, text: bytes) -> Any:
        """What a received text says; not to be changed."""
        if text != self._received[0]:
            self._received = (text, json.loads(text))
        return self._received[1]


class BufferCodec(DocumentCodec):
    """Arrays as raw buffers beside the message; what stands for one is its type, shape and place.

    Args:
        data: The received bytes that `unpack` reads; arrays are copied out of it.
        documents: Of the channel; None leaves documents in the message.
    """

    def __init__(self, data: memoryview | None = None, documents: Documents | None = None) -> None:
        self.buffers: list[memoryview] = []
        self.size = 0
        self._data = data
        self._documents = documents

    def pack_document(self, document: Mapping[str, Any]) -> Any:
        """Queue a document's text beside the message and return its description."""
        return document if self._documents is None else self.pack(self._documents.text(document))

    def unpack_document(self, value: Any, path: str) -> Any:
        """Return the described document."""
        if self._documents is None:
            return value
        text = self.unpack(value, path)
        if text.dtype != np.uint8 or text.ndim != 1:
            refuse(path, "is not a document's text")
        return self._documents.document(text.tobytes())

    def pack(self, array: Array) -> list[Any]:
        """Queue the array's bytes and return its description."""
        if array.dtype.str not in ARRAY_TYPES:
            raise TypeError(f"array of {array.dtype.str}, expected one of {ARRAY_TYPES}")
        buffer = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        place = self.size
        self.buffers.append(buffer)
        self.size += _aligned(buffer.nbytes)
        return [array.dtype.str, list(array.shape), place]

    def unpack(self, value: Any, path: str) -> Array:
        """Copy the described array out of the received bytes."""
        if type(value) is not list or len(value) != 3 or value[0] not in ARRAY_TYPES:
            refuse(path, "is not an array description")
        name, shape, place = value
        if type(shape) is not list or any(type(n) is not int or n < 0 for n in shape):
            refuse(path, "has no valid array shape")
        dtype = np.dtype(name)
        count = math.prod(shape)
        data = self._data
        held = 0 if data is None else data.nbytes
        if type(place) is not int or place < 0 or place + count * dtype.itemsize > held:
            refuse(path, f"lies outside the {held} bytes received")
        if data is None or not count:
            return np.zeros(shape, dtype)
        return np.frombuffer(data, dtype, count, place).reshape(shape).copy()


class Channel:
    """One end of the connection; used by one thread at a time.

    Args:
        connection: A connected stream socket.
        region: Descriptor of the shared memory, or None where there is none.
    """

    def __init__(self, connection: socket.socket, region: int | None) -> None:
        self._socket = connection
        self._documents = Documents()
        self._region = None if region is None else mmap.mmap(region, os.fstat(region).st_size)

    def codec(self) -> BufferCodec:
        """A codec for the next message to be sent."""
        return BufferCodec(documents=self._documents)

    def send(
        self, sequence: int, message: Any, codec: BufferCodec, deadline: float | None = None
    ) -> None:
        """Send a message and the arrays that ``codec`` packed into it.

        Args:
            sequence: Of the call; a reply repeats it.
            message: JSON values.
            codec: That packed the message's arrays.
            deadline: `time.monotonic` value.

        Raises:
            ChannelClosed: The other end is gone.
            TimeoutError: It does not take the message in time.
        """
        text = json.dumps(message, separators=(",", ":")).encode("utf-8")
        region = self._region
        shared = region is not None and INLINE_BYTES < codec.size <= len(region)
        parts: list[bytes | memoryview] = [
            _HEADER.pack(sequence, len(text), codec.size, shared),
            text,
        ]
        if region is not None and shared:
            place = 0
            for buffer in codec.buffers:
                region[place : place + buffer.nbytes] = buffer
                place += _aligned(buffer.nbytes)
        else:
            for buffer in codec.buffers:
                parts += [buffer, bytes(_aligned(buffer.nbytes) - buffer.nbytes)]
        self._socket.settimeout(_remaining(deadline))
        try:
            self._socket.sendall(b"".join(parts))
        except TimeoutError:
            raise
        except OSError as exc:
            raise ChannelClosed("the other end of the connection is gone") from exc

    def receive(self, deadline: float | None = None) -> tuple[int, Any, BufferCodec]:
        """Receive a message.

        Returns:
            Sequence number, JSON values, and the codec that unpacks its arrays. The codec is valid
            until the next `send`.

        Raises:
            ChannelClosed: The other end is gone.
            TimeoutError: Nothing complete arrived in time.
            ValueError: What arrived is not a message.
        """
        header = self._receive(_HEADER.size, deadline)
        sequence, length, size, shared = _HEADER.unpack(header)
        if length > MAX_TEXT_BYTES or size > REGION_BYTES or shared > 1:
            raise ValueError("the frame's header is not valid")
        text = self._receive(length, deadline)
        if not shared:
            data = memoryview(self._receive(size, deadline))
        elif self._region is None or size > len(self._region):
            raise ValueError("the frame points outside the shared memory")
        else:
            data = memoryview(self._region)[:size]
        return sequence, json.loads(text), BufferCodec(data, self._documents)

    def close(self) -> None:
        """Close this end; may be called twice."""
        self._socket.close()

    def _receive(self, size: int, deadline: float | None) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        filled = 0
        while filled < size:
            self._socket.settimeout(_remaining(deadline))
            try:
                count = self._socket.recv_into(view[filled:])
            except TimeoutError:
                raise
            except OSError as exc:
                raise ChannelClosed("the other end of the connection is gone") from exc
            if not count:
                raise ChannelClosed("the other end of the connection is gone")
            filled += count
        return data


def _remaining(deadline: float | None) -> float | None:
    """Seconds until the deadline; never 0, which would mean a non-blocking socket."""
    return None if deadline is None else max(1e-3, deadline - time.monotonic())


def _aligned(size: int) -> int:
    """Round up, so that the receiver may view any element type at any place."""
    return (size + 7) & ~7


def create_region() -> int | None:
    """Create the shared memory of a channel; return its descriptor, or None where unsupported."""
    if not hasattr(os, "memfd_create"):
        return None
    region = os.memfd_create("robogate-images", os.MFD_CLOEXEC)
    os.ftruncate(region, REGION_BYTES)
    return region
