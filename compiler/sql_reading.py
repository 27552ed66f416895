"""Reads SQL just far enough to say whether a statement only reads.

A small tokenizer by SQLite's own rules (https://www.sqlite.org/lang_expr.html and tokenize.c): texts, four ways of
quoting a name, two kinds of comments, parameters. Everything doubtful counts as writing, so that `reads_only` is never
wrong on the side that matters; the database itself refuses a write that slips through (a read-only transaction).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Kinds of tokens. White space and comments are passed over.
WORD = "word"  # a keyword or a name without quotes, in lower case
NAME = "name"  # a quoted name, in lower case, without its quotes
TEXT = "text"  # a text, number or blob
PARAMETER = "parameter"
SIGN = "sign"  # one character of punctuation
BROKEN = "broken"  # a text or a name that is never closed

_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\f\r]++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)
      | (?P<text>[xX]?'(?:[^']|'')*+'|(?:\d|\.\d)[\w.]*+)
      | (?P<double>"(?:[^"]|"")*+") | (?P<tick>`(?:[^`]|``)*+`) | (?P<square>\[[^\]]*+\])
      | (?P<parameter>\?\d*+|[:@\#][\w$]++|\$[\w$:]++)
      | (?P<word>(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*+)
      | (?P<broken>['"`\[])
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)

# Words that an opening bracket may follow without being a call.
_NO_CALL_WORDS = """
    all and as asc between by case cast collate desc distinct else escape except exists filter from group having in
    intersect is isnull join like glob limit match materialized not notnull null offset on or order over partition
    select set then union using values when where
"""
_NO_CALLS = frozenset(_NO_CALL_WORDS.split())

# The functions that SQLite ships: https://www.sqlite.org/lang_corefunc.html, lang_aggfunc.html, windowfunctions.html,
# lang_datefunc.html, lang_mathfunc.html, json1.html and fts5.html, as of 3.50. Left out, because they do more than
# read: load_extension, fts3_tokenizer, fts's optimize, and what only the sqlite3 shell has (readfile, writefile, edit).
_SHIPPED_NAMES = """
    abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr last_insert_rowid length like
    likelihood likely lower ltrim max min nullif octet_length printf quote random randomblob replace round rtrim sign
    soundex sqlite_compileoption_get sqlite_compileoption_used sqlite_offset sqlite_source_id sqlite_version substr
    substring total_changes trim typeof unhex unicode unistr unistr_quote unlikely upper zeroblob
    avg count group_concat median percentile percentile_cont percentile_disc string_agg sum total
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch
    acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power
    radians sin sinh sqrt tan tanh trunc
    json json_array json_array_insert json_array_length json_each json_error_position json_extract json_group_array
    json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set
    json_tree json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_each jsonb_extract jsonb_group_array
    jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set jsonb_tree
    bm25 highlight snippet
"""
SHIPPED = frozenset(_SHIPPED_NAMES.split())

_READING_WORDS = ("select", "values", "explain")
_WRITING_WORDS = frozenset(("insert", "update", "delete", "replace"))


def tokens(sql: str) -> Iterator[tuple[str, str]]:
    """The (kind, text) of each token of an SQL text, in order; the last is BROKEN where a quote is never closed."""
    for found in _TOKEN.finditer(sql):
        kind = found.lastgroup
        text = found.group()
        if kind == "space":
            continue
        if kind in ("double", "tick", "square"):
            yield NAME, text[1:-1].lower()
        elif kind == "word":
            yield WORD, text.lower()
        elif kind == "broken":
            yield BROKEN, text
            return
        else:
            yield str(kind), text


def first_word(sql: str) -> str:
    """The first word after white space and comments, in lower case; "" where there is none."""
    kind, text = next(tokens(sql), ("", ""))
    return text if kind == WORD else ""


def why_not_reading(sql: str) -> str:
    """Why a statement can't be taken for one that only reads, as half a sentence; "" where it can.

    It can where it is one statement, begins with `select`, and calls only functions that SQLite ships (mcp.md
    section 1; `with … select` does not count).
    """
    before: tuple[str, str] = ("", "")
    begun = ended = False
    for token in tokens(sql):
        kind, text = token
        if kind == BROKEN:
            return f"has a {text} that is never closed"
        if token == (SIGN, ";"):
            ended = True
            continue
        if ended:
            return "is more than one statement" if begun else "does not start with `select`"
        if not begun:
            begun = True
            if token != (WORD, "select"):
                return "does not start with `select`"
        elif token == (WORD, "regexp"):
            return "uses `regexp`, which SQLite does not ship"
        elif token == (SIGN, "("):
            # SQLite reads `$a(…)` and `:a(…)` as one parameter, whatever stands in the brackets: nothing to vouch for.
            if before[0] == PARAMETER and not before[1].startswith("?"):
                return f"has `(` right after the parameter `{before[1]}`"
            is_name = before[0] == NAME or (before[0] == WORD and before[1] not in _NO_CALLS)
            if is_name and before[1] not in SHIPPED:
                return f"calls `{before[1]}`, which SQLite does not ship"
        before = token
    return "" if begun else "is empty"


def reads_only(sql: str) -> bool:
    """Whether a statement surely only reads. See `why_not_reading`."""
    return not why_not_reading(sql)


def writes(sql: str) -> bool:
    """Whether a statement is one that changes the database: not `select`, `values`, `explain`, a `with` that only
    selects, or a `pragma` that asks. The checker counts such a statement as a change that a question may not follow."""
    words = tokens(sql)
    kind, first = next(words, ("", ""))
    if kind != WORD or first in _READING_WORDS:
        return False
    if first == "pragma":
        return any(token == (SIGN, "=") for token in words)
    if first == "with":
        before: tuple[str, str] = ("", "")
        for token in words:
            # `replace (` is the function of that name, every other one of these words begins a statement.
            if before[0] == WORD and before[1] in _WRITING_WORDS and token != (SIGN, "("):
                return True
            before = token
        return False
    return True
