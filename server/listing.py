"""What a server tells of itself: the results of `server/discover` and `tools/list` (mcp.md, sections 2, 3 and 6).

They depend on the Module alone, so they are made once; `quillo docs --mcp` shows the same.
"""

from __future__ import annotations

from typing import Any

from qasm.module import Module, Tool
from server import VERSION, messages

LIFETIME = 300_000  # milliseconds for which a client may keep them


def server_info(module: Module) -> dict[str, str]:
    return {"name": module.name, "version": VERSION}


def discover(module: Module, door: str) -> dict[str, Any]:
    """The result of `server/discover`, but for `_meta`. `door` is "stdio" or "http"."""
    return {
        "resultType": "complete",
        "supportedVersions": [messages.VERSION],
        "capabilities": {"tools": {}},
        "instructions": module.instructions.get(door, ""),
        "ttlMs": LIFETIME,
        "cacheScope": "private",
    }


def tools_list(module: Module) -> dict[str, Any]:
    """The result of `tools/list`, but for `_meta`: all tools, in the order of the program."""
    return {
        "resultType": "complete",
        "tools": [_tool(tool) for tool in module.tools],
        "ttlMs": LIFETIME,
        "cacheScope": "private",
    }


def _tool(tool: Tool) -> dict[str, Any]:
    listed: dict[str, Any] = {"name": tool.name}
    if tool.description:
        listed["description"] = tool.description
    listed["inputSchema"] = tool.input_schema
    if tool.output_schema:
        listed["outputSchema"] = tool.output_schema
    if tool.annotations:
        listed["annotations"] = tool.annotations
    return listed


def what_clients_are_sent(module: Module) -> dict[str, Any]:
    """All that each door sends before a call, whole: what `quillo docs --mcp` prints."""
    meta = {"_meta": {"io.modelcontextprotocol/serverInfo": server_info(module)}}
    return {
        door: {"server/discover": {**discover(module, door), **meta}, "tools/list": {**tools_list(module), **meta}}
        for door in ("stdio", "http")
    }
