"""`quillo run --watch`: which version of a program answers, while its files change in all the ways that files do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from server.http_door import Door, Options
from server.http_messages import Answer, Request
from server.policy import read_policies
from server.programs import compile_file
from server.protocol import Unfinished
from server.serving import Served, ServeOptions
from server.watching import Watcher
from tests.talking import SECRET

PAGE = "route GET / = <h1>{0}</h1>\n"
TURNS = 3000  # looks at the files until a test fails


class Developer:
    """Who edits a program that is watched, and looks at it. `log` is what went to standard error."""

    def __init__(self, folder: Path, policy: str | None = None) -> None:
        self.main = folder / "main.qwe"
        self.log: list[str] = []
        self.printed: list[str] = []
        self.announced: list[tuple[Served, Served]] = []
        options = ServeOptions(
            SECRET, self.printed.append, self.log.append, lambda: None, policy, watch=True, max_tool_calls=5
        )
        module, found = compile_file(str(self.main))
        assert module is not None, found
        self.served = Served(str(self.main), module, options, read_policies(str(folder), policy))
        self.door = Door(self.served.site, Options(max_body=self.served.max_body), None, str)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Developer]:
        watcher = Watcher(self.served, self.door, lambda new, old: self.announced.append((new, old)))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watcher.run)
                yield self
                nursery.cancel_scope.cancel()
        finally:
            watcher.served.close()

    def begin(self, target: str, accept: str = "text/html") -> Answer | Unfinished:
        headers = {b"host": b"localhost", b"accept": accept.encode()}
        return self.door.answer(Request("GET", target, headers, b""))

    def get(self, target: str = "/", accept: str = "text/html") -> Answer:
        answer = self.begin(target, accept)
        assert isinstance(answer, Answer)
        return answer

    def text(self, target: str = "/") -> str:
        return self.get(target).body.decode()

    async def sees(self, words: str, target: str = "/") -> str:
        """The page at `target`, as soon as these words are on it."""
        await self.until(lambda: words in self.text(target))
        return self.text(target)

    async def hears(self, words: str) -> None:
        await self.until(lambda: any(words in line for line in self.log))

    async def until(self, so: Callable[[], bool]) -> None:
        for _ in range(TURNS):
            if so():
                return
            await trio.sleep(0.1)
        raise AssertionError("\n".join([self.text(), *self.log]))


def in_trio(work: Callable[[], Awaitable[None]]) -> None:
    trio.run(work, clock=trio.testing.MockClock(rate=20))


def edited(folder: Path, steps: Callable[[Developer], Awaitable[None]], **more: Any) -> Developer:
    developer = Developer(folder, **more)

    async def work() -> None:
        async with developer.watching():
            await steps(developer)

    in_trio(work)
    return developer


@pytest.fixture
def main(tmp_path):
    path = tmp_path / "main.qwe"
    path.write_text(PAGE.replace("{0}", "one"))
    return path


def page(word: str) -> str:
    return PAGE.replace("{0}", word)


# --- how editors write


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_rename(path: Path, text: str) -> None:
    beside = path.with_name(".main.swp")
    beside.write_text(text)
    os.replace(beside, path)


def by_deleting(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def with_the_old_time(path: Path, text: str) -> None:
    """As `cp -p` and archives do: the new file has an old time."""
    by_rename(path, text)
    os.utime(path, (1, 1))


@pytest.mark.parametrize("write", [in_place, by_rename, by_deleting, with_the_old_time])
def test_a_change_is_seen_however_it_is_written(main, tmp_path, write):
    async def steps(developer: Developer) -> None:
        assert "<h1>one</h1>" in developer.text()
        for word in ("second", "third one", "4"):
            write(main, page(word))
            await developer.sees(f"<h1>{word}</h1>")

    developer = edited(tmp_path, steps)
    assert developer.log == ["quillo: reloaded"] * 3
    assert len(developer.announced) == 3


def test_half_a_file_and_none_are_mistakes_until_the_rest_is_there(main, tmp_path):
    async def steps(developer: Developer) -> None:
        main.write_text("route GET / = <h1>tw")
        await developer.sees('role="alert"')
        main.write_text("")
        await developer.sees("main.qwe: error: the file is empty")
        main.unlink()
        await developer.sees("main.qwe: error: the file is not there")
        assert "<h1>one</h1>" in developer.text()
        main.write_text(page("two"))
        assert 'role="alert"' not in await developer.sees("<h1>two</h1>")

    edited(tmp_path, steps)


def test_what_was_taken_back_is_served_again_without_a_notice(main, tmp_path):
    async def steps(developer: Developer) -> None:
        before = main.read_text()
        main.write_text(before + "nope\n")
        await developer.sees('role="alert"')
        main.write_text(before)
        await developer.until(lambda: 'role="alert"' not in developer.text())

    edited(tmp_path, steps)


# --- which files count


def test_used_files_count_also_those_that_are_not_there_yet(main, tmp_path):
    async def steps(developer: Developer) -> None:
        main.write_text('use "parts/lib.qwe" as lib\nroute GET / = <h1>{lib.word()}</h1>\n')
        await developer.sees("parts/lib.qwe")
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "lib.qwe").write_text('fn word() -> str = "two"\n')
        await developer.sees("<h1>two</h1>")
        (tmp_path / "parts" / "lib.qwe").write_text('use "more.qwe" as more\nfn word() -> str = more.word()\n')
        await developer.hears("more.qwe")
        for name in ("more.qwe", "parts/more.qwe"):
            (tmp_path / name).write_text('fn word() -> str = "three"\n')
        await developer.sees("<h1>three</h1>")

    edited(tmp_path, steps)


def test_other_files_do_not_count(main, tmp_path):
    async def steps(developer: Developer) -> None:
        (tmp_path / "other.qwe").write_text("nope\n")
        (tmp_path / "notes.txt").write_text("text")
        main.write_text(page("two"))
        await developer.sees("<h1>two</h1>")

    assert edited(tmp_path, steps).log == ["quillo: reloaded"]


@pytest.mark.parametrize("given", [True, False])
def test_the_policy_counts(main, tmp_path, given):
    path = tmp_path / ("own.toml" if given else "quillo.policy.toml")
    if given:
        path.write_text("")

    async def steps(developer: Developer) -> None:
        path.write_text('[limits]\nmax_body = "1kb"\n')
        await developer.until(lambda: developer.door.options.max_body == 1024)
        path.write_text("[limit]\n")
        await developer.sees('role="alert"')
        assert "<h1>one</h1>" in developer.text()
        path.write_text('[limits]\nmax_body = "2kb"\n')
        await developer.until(lambda: developer.door.options.max_body == 2048)

    edited(tmp_path, steps, policy=str(path) if given else None)


def test_what_changed_between_the_start_and_the_first_look_is_seen(main, tmp_path):
    (tmp_path / "lib.qwe").write_text('fn word() -> str = "one"\n')
    for file, text in (("lib.qwe", 'fn word() -> str = "two"\n'), ("main.qwe", page("two"))):
        main.write_text('use "lib.qwe" as lib\nroute GET / = <h1>{lib.word()}</h1>\n')
        developer = Developer(tmp_path)
        (tmp_path / file).write_text(text)

        async def work(developer: Developer = developer) -> None:
            async with developer.watching():
                await developer.sees("<h1>two</h1>")

        in_trio(work)


def test_what_changes_while_a_version_is_made_is_seen(main, tmp_path, monkeypatch):
    """A file changes just after the compiler read it: the next look must not take it for read."""
    from server import watching

    compiled, lib = watching._compiled, tmp_path / "lib.qwe"
    lib.write_text('fn word() -> str = "two"\n')

    def slowly(served: Served) -> Any:
        made = compiled(served)
        if "two" in lib.read_text():
            lib.write_text('fn word() -> str = "three"\n')
        return made

    monkeypatch.setattr(watching, "_compiled", slowly)

    async def steps(developer: Developer) -> None:
        main.write_text('use "lib.qwe" as lib\nroute GET / = <h1>{lib.word()}</h1>\n')
        await developer.sees("<h1>three</h1>")

    edited(tmp_path, steps)


def test_a_compiled_program_is_watched_too(main, tmp_path):
    from tests.mcp.spawned import commanded

    built = tmp_path / "out.qvm"
    assert commanded("build", str(main), "-o", str(built)).returncode == 0
    developer = Developer(tmp_path)
    developer.served.close()
    module, _ = compile_file(str(built))
    assert module is not None
    developer.served = Served(str(built), module, developer.served.options, developer.served.policy)
    developer.door.site = developer.served.site

    async def work() -> None:
        async with developer.watching():
            main.write_text(page("two"))
            commanded("build", str(main), "-o", str(built))
            await developer.sees("<h1>two</h1>")
            built.write_bytes(built.read_bytes()[:-3])
            await developer.sees("out.qvm: error: ")

    in_trio(work)
    assert developer.log[0] == "quillo: reloaded"


# --- what is said while the newer version has errors


def test_a_mistake_is_told_at_the_top_of_pages_and_in_a_header_of_what_is_none(main, tmp_path):
    main.write_text(page("one") + 'route GET /json = { a: 1 }\nroute GET /text = "hello"\nroute GET /fail = 1 / 0\n')

    async def steps(developer: Developer) -> None:
        main.write_text(page("two") + "let a = <b>{c}</b>\n")
        shown = await developer.sees('role="alert"')
        assert "<h1>one</h1>" in shown
        assert "main.qwe:2: error: " in shown
        assert 'role="alert"' in developer.text("/fail")
        for target, body in (("/json", b'{"a": 1}'), ("/text", b"hello")):
            answer = developer.get(target)
            assert answer.body.strip() == body
            assert b"\r\nquillo-problem: " in b"\r\n" + answer.headers
            assert b"main.qwe:2: error: " in answer.headers
        missing = developer.get("/new")
        assert missing.status == 404
        assert b"main.qwe:2: error: " in missing.body
        assert b"main.qwe" not in developer.get("/new", accept="application/json").body
        assert developer.get("/_quillo/health").body == b"ok\n"

    log = edited(tmp_path, steps).log
    assert "main.qwe:2: error: " in log[0]
    assert log[1] == "quillo: the program before this change goes on serving"


def test_a_mistake_with_markup_in_it_is_text_on_the_page(main, tmp_path):
    async def steps(developer: Developer) -> None:
        main.write_text(page("two") + 'error_of("<script>alert(1)</script>") = 1\n')
        await developer.sees('role="alert"')
        assert "<script>alert" not in developer.text()

    edited(tmp_path, steps)


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ("let z = 0\nprint(1 / z)\n", "division by zero"),
        ("exit(3)\n", "`exit` can't be used under `quillo run`"),
        ('print(read_line() ?? "")\n', "`read_line` can't be used under `quillo run`"),
        ('db.open("/no/such/folder/x.db")\n', "line 2"),
        ('build "/x" = 1 / (0 * 1)\n', "division by zero"),
        ("let n = 0\nwhile true { n += 1 }\n", "compute"),
    ],
)
def test_a_top_level_that_stops_leaves_what_was(main, tmp_path, top, words):
    (tmp_path / "quillo.policy.toml").write_text("[limits]\nmax_compute = 100_000\n")

    async def steps(developer: Developer) -> None:
        main.write_text(page("two") + top)
        assert "<h1>one</h1>" in await developer.sees('role="alert"')
        await developer.hears(words)
        main.write_text(page("three"))
        await developer.sees("<h1>three</h1>")

    edited(tmp_path, steps)


def test_a_fault_of_the_compiler_leaves_what_was(main, tmp_path, monkeypatch):
    from server import watching

    def failing(path: str) -> Any:
        raise RuntimeError("broken")

    async def steps(developer: Developer) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(watching, "compile_watched", failing)
            main.write_text(page("two"))
            await developer.hears("a fault of Quillo itself")
        main.write_text(page("three"))
        await developer.sees("<h1>three</h1>")

    edited(tmp_path, steps)


def test_warnings_of_a_new_version_are_told(main, tmp_path):
    async def steps(developer: Developer) -> None:
        main.write_text(page("two") + "fn mcp add(a: int) -> int = a\n")
        await developer.sees("<h1>two</h1>")

    log = edited(tmp_path, steps).log
    assert "warning: tool `add` has no `///` comment" in log[0]
    assert log[-1] == "quillo: reloaded"


# --- what lives on


WAITING = """
db.open("notes.db")
db.exec("create table if not exists notes (id integer primary key, text text not null)")
route GET /slow with db {
  sleep("20s")
  db.one("select count(*) as n from notes").n + VERSION
}
route GET /write with db {
  db.transaction(() => {
    db.exec("insert into notes (text) values ('a')")
    sleep("2s")
    db.exec("insert into notes (text) values ('b')")
  })?
  "written"
}
"""


async def finished(developer: Developer, call: Unfinished, into: list[Answer]) -> None:
    """Goes on with a call as the door does."""
    with developer.door.under_way(developer.door.site):
        answer: Any = call
        while isinstance(answer, Unfinished):
            if answer.waiting is None:
                await trio.lowlevel.checkpoint()
                answer = answer.resume(None)
            else:
                answer = answer.resume(await answer.waiting.start())
        into.append(answer)


def test_a_request_under_way_ends_in_the_version_in_which_it_began(main, tmp_path):
    main.write_text(page("one") + WAITING.replace("VERSION", "100"))
    answers: list[Answer] = []

    async def steps(developer: Developer) -> None:
        call = developer.begin("/slow")
        assert isinstance(call, Unfinished)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(finished, developer, call, answers)
            await trio.testing.wait_all_tasks_blocked()
            for number in (200, 300):  # a reload doesn't wait for the one before to be done with
                main.write_text(page(f"version {number}") + WAITING.replace("VERSION", str(number)))
                await developer.sees(f"<h1>version {number}</h1>")
            assert answers == []
        # Its database was open to the end, and is closed now.
        assert answers[0].body.strip() == b"100"
        first = developer.announced[0][1]
        await developer.until(lambda: first.running.world.database._closed)

    edited(tmp_path, steps)


def test_a_new_version_waits_for_an_open_transaction_and_not_for_its_lock(main, tmp_path):
    main.write_text(page("one") + WAITING.replace("VERSION", "1"))
    answers: list[Answer] = []

    async def steps(developer: Developer) -> None:
        call = developer.begin("/write")
        assert isinstance(call, Unfinished)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(finished, developer, call, answers)
            await trio.testing.wait_all_tasks_blocked()
            main.write_text(page("two") + WAITING.replace("VERSION", "2") + 'db.exec("delete from notes")\n')
            await developer.sees("<h1>two</h1>")
        assert answers[0].body == b"written"

    developer = edited(tmp_path, steps)
    assert developer.log == ["quillo: reloaded"]
    with sqlite3.connect(tmp_path / "notes.db") as connection:
        assert connection.execute("select count(*) from notes").fetchone() == (0,)


def test_the_trial_token_and_tokens_in_memory_live_on(main, tmp_path):
    tool = "/// Adds.\nfn mcp add(a: int) -> int = a\n"
    main.write_text(page("one") + tool)

    async def steps(developer: Developer) -> None:
        tokens = developer.served.web.tokens
        trial, own = developer.served.trial_token(), tokens.make('"ana"', None, b"1" * 16, "{}", 600)
        for word in ("two", "without a tool", "three"):
            main.write_text(page(word) + ("" if "without" in word else tool))
            await developer.sees(f"<h1>{word}</h1>")
            now = developer.announced[-1][0].web.tokens
            assert now.trial is not None
            assert now.find(trial) is not None
            assert now.find(own) is not None

    edited(tmp_path, steps)
