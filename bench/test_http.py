"""MCP over HTTP beside the official SDK, and beside FastMCP where $FASTMCP_PYTHON is a Python that has it.

    make bench          (or: python -m pytest bench/test_http.py -s)

The same notes app, a database in a file, eight connections that are kept alive. Ours takes a token with each call and
counts it; the peers do neither.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from http_client import Load, filled, folder, load, ours, peer

ROUNDS = 5
CONNECTIONS = 8
SEARCH = {"word": "needle"}
FASTMCP = os.environ.get("FASTMCP_PYTHON", "")

PEERS = {"sdk": ("notes_sdk.py", None), "fastmcp": ("notes_fastmcp.py", FASTMCP)}
CALLS: dict[str, tuple[str, dict[str, Any], int, int]] = {
    # name: the tool, its arguments, and how often ours and the peer are called a round
    "add": ("add", {"a": 1, "b": 2}, 4000, 400),
    "search": ("search_notes", SEARCH, 2000, 300),
}


@pytest.mark.benchmark(group="http")
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("what", CALLS)
def test_calls_over_http(benchmark, ratio, what, name):
    script, python = PEERS[name]
    if python == "":
        pytest.skip("$FASTMCP_PYTHON names no Python that has fastmcp")
    tool, arguments, our_count, peer_count = CALLS[what]
    with folder() as here, folder() as there:
        servers = []
        try:
            servers.append(mine := filled(ours(here)))
            servers.append(other := filled(peer(there, script, *([python] if python else []))))
            rates = ratio(f"http_{what}_{name}", "calls/s")
            costs = ratio(f"http_{what}_cost_{name}", "us")
            slowest = ratio(f"http_{what}_p99_{name}", "ms")
            for server in servers:
                load(server, tool, arguments, CONNECTIONS, 200)
            for _ in range(ROUNDS):
                a: Load = load(mine, tool, arguments, CONNECTIONS, our_count)
                b: Load = load(other, tool, arguments, CONNECTIONS, peer_count)
                rates.add(a.rate, b.rate)
                costs.add(a.cost, b.cost)
                slowest.add(a.p99, b.p99)
            benchmark.extra_info["ratio"] = rates.report()
            benchmark.extra_info["cost"] = costs.report()
            benchmark.extra_info["p99"] = slowest.report()
            benchmark.pedantic(load, args=(mine, tool, arguments, CONNECTIONS, our_count), rounds=1)
        finally:
            for server in servers:
                server.close()


@pytest.mark.benchmark(group="http memory")
def test_memory_does_not_grow_with_calls(benchmark):
    with folder() as here:
        server = ours(here)
        try:
            idle = server.memory()
            load(server, "add", {"a": 1, "b": 2}, CONNECTIONS, 20_000)
            early = server.memory()
            benchmark.pedantic(load, args=(server, "add", {"a": 1, "b": 2}, CONNECTIONS, 180_000), rounds=1)
            late = server.memory()
        finally:
            server.close()
    print(f"\nidle {idle:.1f} MiB, after 20,000 calls {early:.1f}, after 200,000 {late:.1f}")
    benchmark.extra_info.update(idle=idle, early=early, late=late)
    assert idle < 50
    assert late < early * 1.1
