"""Runs the official conformance suite of MCP against the tools of main.qwe, over HTTP.

    python -m tests.conformance.suite NODE INDEX

NODE is Node.js, version 22 or newer; INDEX is dist/index.js of the npm package @modelcontextprotocol/conformance, in
the version that docs/conformance.md names. The suite signs nobody in: it meets the door through a site that gives each
request a token. Prints one line a scenario; the status is 1 where a check failed that applies (see DOES_NOT_APPLY).
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import trio

from server.http_door import Door, Options
from server.http_messages import Answer, Request
from server.listening import address_of, listen
from server.policy import Policy
from server.programs import compile_file
from server.protocol import Unfinished
from server.serving import Served, ServeOptions

REVISION = "2026-07-28"
PROGRAM = Path(__file__).with_name("main.qwe")

_TOOLS_ONLY = "a Quillo server has tools only: its capabilities are `tools`"
_TEXT_ONLY = "a Quillo tool answers with text and structured content"
_OWN_FORM = "a question has Quillo's own key, `ask`, and its own form"
_NO_STREAM = "each request gets one JSON answer, never a stream"
_NO_TASKS = "the extension for tasks is not offered"
_NO_HEADERS = "no parameter of a tool is sent as a header"

# What a server of this kind can't pass, and why; docs/conformance.md tells it, too. A name is that of a scenario, all
# of whose checks are meant, or that of one check.
DOES_NOT_APPLY = {
    "sep-2549-prompts-list-caching-hints": _TOOLS_ONLY,
    "sep-2549-resources-list-caching-hints": _TOOLS_ONLY,
    "sep-2549-resources-templates-list-caching-hints": _TOOLS_ONLY,
    "completion-complete": _TOOLS_ONLY,
    "prompts-list": _TOOLS_ONLY,
    "prompts-get-simple": _TOOLS_ONLY,
    "prompts-get-with-args": _TOOLS_ONLY,
    "prompts-get-embedded-resource": _TOOLS_ONLY,
    "prompts-get-with-image": _TOOLS_ONLY,
    "resources-list": _TOOLS_ONLY,
    "resources-read-text": _TOOLS_ONLY,
    "resources-read-binary": _TOOLS_ONLY,
    "resources-templates-read": _TOOLS_ONLY,
    "sep-2164-error-code": _TOOLS_ONLY,
    "sep-2164-data-uri": _TOOLS_ONLY,
    "sep-2322-non-tool-incomplete": _TOOLS_ONLY,
    "tools-call-image": _TEXT_ONLY,
    "tools-call-audio": _TEXT_ONLY,
    "tools-call-embedded-resource": _TEXT_ONLY,
    "tools-call-mixed-content": _TEXT_ONLY,
    "tools-call-with-progress": _NO_STREAM,
    "sep-2322-elicitation-incomplete": _OWN_FORM,
    "sep-2322-multiple-inputs-incomplete": "a call asks one question at a time",
    "sep-2322-sampling-incomplete": "a tool asks the person, never the model",
    "sep-2322-list-roots-incomplete": "a tool asks the person, never for the client's folders",
    "sep-2322-respect-client-capabilities": "a tool asks the person alone: where it can't, `about` takes its default",
    "sep-2322-ignore-unexpected-params": "an answer counts with its state only: a call with no state starts over",
    "sep-2575-server-rejects-undeclared-capability": "the reference's text stands instead of -32021",
    "sep-2575-missing-capability-http-400": "the reference's text stands instead of -32021",
    "json-schema-2020-12-tool-found": "schemas follow from types: there is no way to write one by hand",
    "http-custom-header-server-validation": _NO_HEADERS,
    "tasks-capability-negotiation": _NO_TASKS,
    "tasks-dispatch-and-envelope": _NO_TASKS,
    "tasks-lifecycle": _NO_TASKS,
    "tasks-mrtr-composition": _NO_TASKS,
    "tasks-mrtr-input": _NO_TASKS,
    "tasks-request-headers": _NO_TASKS,
    "tasks-request-state-removal": _NO_TASKS,
    "tasks-required-task-error": _NO_TASKS,
    "tasks-wire-fields": _NO_TASKS,
}
_FOLDER = re.compile(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z")


class SignedIn:
    """A site whose every request carries a good token, since the suite brings none."""

    def __init__(self, served: Served) -> None:
        self._site = served.site
        self._header = f"Bearer {served.trial_token()}".encode()

    def begin(self, request: Request) -> Answer | Unfinished:
        request.headers[b"authorization"] = self._header
        return self._site.begin(request)


async def main(node: str, index: str) -> int:
    module, found = compile_file(str(PROGRAM))
    assert module is not None, found
    options = ServeOptions(secrets.token_bytes(32), print, print, lambda: None, max_tool_calls=10**6)
    served = Served(str(PROGRAM), module, options, Policy())
    listener = listen("127.0.0.1", 0)
    door = Door(SignedIn(served), Options(), None, lambda problem: repr(problem))
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(door.serve, listener)
            status = await _run_suite(node, index, "http://{}:{}/_quillo/mcp".format(*address_of(listener)))
            nursery.cancel_scope.cancel()
    finally:
        served.close()
    return status


async def _run_suite(node: str, index: str, url: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [node, index, "server", "--url", url, "--requirements", REVISION, "-o", folder]
        await trio.run_process(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results = sorted(Path(folder).rglob("checks.json"))
        if not results:
            print("the suite wrote no results")
            return 1
        failed, met = 0, set()
        for path in results:
            named = _FOLDER.fullmatch(path.parent.name)
            failed += _tell(named[1] if named else path.parent.name, json.loads(path.read_text("utf-8")), met)
    for name in sorted(set(DOES_NOT_APPLY) - met):
        print(f"{name} is said not to apply, and did not fail")
        failed += 1
    print(f"{failed} failures" if failed else "every check that applies holds")
    return 1 if failed else 0


def _tell(scenario: str, checks: list[dict[str, Any]], met: set[str]) -> int:
    """Prints what became of one scenario; gives how many checks that apply failed. Puts into `met` what doesn't."""
    counts: dict[str, int] = {}
    failures = []
    for check in checks:
        kind = check["status"].lower()
        if kind in ("failure", "warning"):
            name = next((name for name in (scenario, check["id"]) if name in DOES_NOT_APPLY), None)
            if name is None:
                failures.append(f"    {check['id']}: {check.get('errorMessage', '')}")
            else:
                met.add(name)
                kind = "does not apply"
        counts[kind] = counts.get(kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"{scenario}: {told}", *failures, sep="\n")
    return len(failures)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    raise SystemExit(trio.run(main, *sys.argv[1:]))
