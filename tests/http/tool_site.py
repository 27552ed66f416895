"""A site with tools of each kind, and who signs in at it."""

from __future__ import annotations

from tests.http.hosting import Client, Hosted

TOOLS = """
/// Adds.
fn mcp add(a: int, b: int) -> int = a + b

/// Greets.
fn mcp greet(name: str) = `Hello, ${name}.`

/// Who calls?
fn mcp who() -> any = { session: session(), tenant: tenant(), locale: locale() }

/// Asks.
fn mcp clear(what: str) -> str ! str {
  if !confirm(`Delete ${what}?`) { return err("kept") }
  `deleted ${what}`
}

/// Signs someone else in.
fn mcp become(user: str) -> str { set_session({ user }); session().user }

/// Who asks?
server fn mcp client() -> any = { mcp: request.mcp, method: request.method, path: request.path }

/// Reads.
server fn mcp body() -> any = { body: request.body, json: request.json, form: request.form }

/// Waits.
fn mcp wait() -> int { sleep("1ms"); 1 }

route POST /in { set_session({ user: request.query.as }); "in" }
route POST /visit { set_session({ seen: true }); "in" }
route POST /token = mcp_token()
route GET /who = session()
"""


def signed_in(site: Hosted, user: str = "ana") -> Client:
    visitor = site.visitor()
    assert visitor.post(f"/in?as={user}").text == "in"
    return visitor.client
