"""A peer of bench/notes.qwe: the same notes app on FastMCP (`fastmcp`), over HTTP (--http PORT).

The database is $NOTES_DB. It is written as its documentation shows; the tools are plain functions.
"""

import os
import sqlite3
import sys
import threading

from fastmcp import FastMCP
from pydantic import BaseModel

db = sqlite3.connect(os.environ.get("NOTES_DB", "notes.db"), check_same_thread=False)
db.row_factory = sqlite3.Row
db.execute("pragma journal_mode = wal")
db.execute("create table if not exists notes (id integer primary key, text text not null)")
db.commit()
lock = threading.Lock()  # plain functions run on worker threads

server = FastMCP("notes", version="1.0.0")


class Note(BaseModel):
    id: int
    text: str


@server.tool
def search_notes(word: str, limit: int = 20) -> list[Note]:
    """Find the notes that contain a word."""
    with lock:
        rows = db.execute(
            "select id, text from notes where text like '%' || ? || '%' order by id limit ?", (word, limit)
        ).fetchall()
    return [Note(id=row["id"], text=row["text"]) for row in rows]


@server.tool
def add_note(text: str) -> int:
    """Add a note and return its id."""
    with lock, db:
        return db.execute("insert into notes (text) values (?)", (text,)).lastrowid or 0


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[sys.argv.index("--http") + 1]),
        show_banner=False,
        log_level="WARNING",
    )
