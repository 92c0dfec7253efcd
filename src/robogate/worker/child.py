"""The child side of the pipe: builds an environment and serves its interface on the main thread."""

from __future__ import annotations

import faulthandler
import importlib
import os
import socket
import sys
import traceback
from typing import Any

from robogate.records.environment import Environment
from robogate.worker.channel import BufferCodec, Channel, ChannelClosed
from robogate.worker.encoding import take_fields
from robogate.worker.lifeline import die_with
from robogate.worker.memory import keep_freed_memory
from robogate.worker.messages import (
    Close,
    decode_call,
    encode_error,
    encode_reply,
    perform,
)


def main() -> int:
    """Entry point; arguments are the socket, the shared memory (−1: none) and the parent's pid."""
    connection, region, parent = (int(argument) for argument in sys.argv[1:4])
    die_with(parent)
    faulthandler.enable()
    keep_freed_memory()
    channel = Channel(socket.socket(fileno=connection), None if region < 0 else region)
    serve(channel)
    # Native libraries may hang or crash while they are torn down, after everything was said.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def serve(channel: Channel) -> None:
    """Build the environment that the first message asks for, then answer calls until the end."""
    environment: Environment | None = None
    try:
        while True:
            sequence, message, received = channel.receive()
            codec = channel.codec()
            closing = False
            try:
                if environment is None:
                    environment = _create(message)
                    reply: dict[str, Any] = {"ok": None}
                else:
                    call = decode_call(message, received)
                    reply = encode_reply(perform(environment, call), codec)
                    closing = isinstance(call, Close)
            except Exception as exc:
                traceback.print_exc()
                codec, reply = BufferCodec(), encode_error(exc)
            _send(channel, sequence, reply, codec)
            if closing:
                return
    except ChannelClosed:
        return  # the parent is gone or has no more use for this process


def _send(channel: Channel, sequence: int, reply: dict[str, Any], codec: BufferCodec) -> None:
    try:
        channel.send(sequence, reply, codec)
    except (TypeError, ValueError) as exc:  # the environment returned what has no JSON form
        traceback.print_exc()
        channel.send(sequence, encode_error(exc), BufferCodec())


def _create(message: Any) -> Environment:
    fields = take_fields(message, "$", {"factory": str, "options": dict})
    module, _, name = fields["factory"].partition(":")
    factory = getattr(importlib.import_module(module), name)
    environment = factory(**fields["options"])
    if not isinstance(environment, Environment):
        kind = type(environment).__name__
        raise TypeError(f"{fields['factory']} returned {kind}, expected an Environment")
    return environment
