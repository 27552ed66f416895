"""The peer of bench/notes.qwe: the same notes app on the official Python SDK (`mcp`): stdio, or HTTP by --http PORT.

The database is $NOTES_DB. It is written as the SDK's documentation shows; the tools are plain functions.
"""

import os
import sqlite3
import sys
import threading
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

db = sqlite3.connect(os.environ.get("NOTES_DB", "notes.db"), check_same_thread=False)
db.row_factory = sqlite3.Row
db.execute("pragma journal_mode = wal")
db.execute("create table if not exists notes (id integer primary key, text text not null)")
db.commit()
lock = threading.Lock()  # plain functions run on worker threads

server = MCPServer("notes", version="1.0.0", log_level="WARNING")


class Note(BaseModel):
    id: int
    text: str


class Confirm(BaseModel):
    yes: bool


@server.tool()
def search_notes(word: str, limit: int = 20) -> list[Note]:
    """Find the notes that contain a word."""
    with lock:
        rows = db.execute(
            "select id, text from notes where text like '%' || ? || '%' order by id limit ?", (word, limit)
        ).fetchall()
    return [Note(id=row["id"], text=row["text"]) for row in rows]


@server.tool()
def add_note(text: str) -> int:
    """Add a note and return its id."""
    with lock, db:
        return db.execute("insert into notes (text) values (?)", (text,)).lastrowid or 0


def ask_before_clearing() -> Elicit[Confirm]:
    with lock:
        count = db.execute("select count(*) from notes").fetchone()[0]
    return Elicit(f"Delete all {count} notes?", Confirm)


@server.tool()
def clear_notes(confirm: Annotated[Confirm, Resolve(ask_before_clearing)]) -> int:
    """Delete every note, after asking the person. Returns how many were deleted."""
    if not confirm.yes:
        return 0
    with lock, db:
        return db.execute("delete from notes").rowcount


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[sys.argv.index("--http") + 1]))
    else:
        server.run()
