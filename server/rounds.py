"""One tool's call from a client's side, in this process: through all its rounds, to its result (`quillo ask`).

    ended = call_tool(protocol, "clear_notes", b"{}", answer, can_ask=True, clock=time.perf_counter)

The messages are those of a client over stdio, and so is the way that they take: what holds here holds there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from server.messages import VERSION, read, written
from server.protocol import Protocol, Unfinished

# Given what an input request asks (`message`, `requestedSchema`), gives the response: { action, content }.
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Ended(NamedTuple):
    """How a call ended. `answer` is the last message: { result } or { error }. `seconds` are without the person's.

    `steps` are those of all rounds together; `rounds` is 1 where nobody was asked.
    """

    answer: dict[str, Any]
    steps: int
    rounds: int
    seconds: float


def call_tool(
    protocol: Protocol, name: str, arguments: bytes, answer: Answer, can_ask: bool, clock: Callable[[], float]
) -> Ended:
    """Calls a tool with `arguments`, an object as JSON, and has `answer` answer each question of the call.

    What `answer` raises comes out. `clock` gives seconds, from any start.
    """
    steps_before, seconds, rounds = protocol.steps, 0.0, 0
    more = b""
    while True:
        rounds += 1
        message = _message(rounds, name, arguments, more, can_ask)
        began = clock()
        line = _finished(protocol.begin(message))
        seconds += clock() - began
        came = read(line)
        result = came.get("result", {})
        if result.get("resultType") != "input_required":
            return Ended(came, protocol.steps - steps_before, rounds, seconds)
        [(key, request)] = result["inputRequests"].items()
        responses = {key: answer(request["params"])}
        more = b',"requestState":' + written(result["requestState"]) + b',"inputResponses":' + written(responses)


def _message(id: int, name: str, arguments: bytes, more: bytes, can_ask: bool) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}} if can_ask else {},
    }
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":' % id,
            written(name),
            b',"arguments":',
            arguments,
            more,
            b',"_meta":',
            written(meta),
            b"}}",
        )
    )


def _finished(answer: bytes | Unfinished | None) -> bytes:
    """The answer of a call that may have to wait."""
    call = answer
    try:
        while isinstance(answer, Unfinished):
            if answer.waiting is None:
                answer = answer.resume(None)
            else:
                import trio

                answer = trio.run(_waited_for, answer)
    except BaseException:
        # The person's Ctrl-C: what the call holds is given up.
        if isinstance(call, Unfinished):
            call.cancel()
        raise
    assert answer is not None
    return answer


async def _waited_for(call: Unfinished) -> bytes | Unfinished | None:
    """The call once what it waits for has come, and all that it waits for after that."""
    answer: bytes | Unfinished | None = call
    while isinstance(answer, Unfinished) and answer.waiting is not None:
        try:
            value = await answer.waiting.start()
        except Exception as problem:  # a Stop, or a failure of ours that ends the call
            answer = answer.fail(problem)
        else:
            answer = answer.resume(value)
    return answer
