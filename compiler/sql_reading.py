"""Reads SQL just far enough to say whether a statement only reads: for the checker, and as a program runs.

    why_not_reading   for the hint that a tool only reads (mcp.md, section 1): one `select`, and nothing else will do
    may_change        for the rule that a tool asks before it changes anything (section 3): other statements read, too

A small tokenizer by SQLite's own rules (https://www.sqlite.org/lang_expr.html and tokenize.c): texts, four ways of
quoting a name, two kinds of comments, parameters. Everything doubtful counts as writing, so that neither is ever wrong
on the side that matters; the database itself refuses a write that slips through (a read-only transaction).
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
    r"""(?P<space>[ \t\n\f\r\ufeff]++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)
      | (?P<text>[xX]?'(?:[^']|'')*+'|(?:\d|\.\d)[\w.]*+)
      | (?P<double>"(?:[^"]|"")*+") | (?P<tick>`(?:[^`]|``)*+`) | (?P<square>\[[^\]]*+\])
      | (?P<parameter>\?\d*+|[:@\#][\w$]++|\$[\w$:]++)
      | (?P<word>(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*+)
      | (?P<broken>['"`\[])
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)

# Words that an opening bracket may follow without being a call; nothing can be named so without quotes.
_NO_CALL_WORDS = """
    all and as between case cast collate distinct else escape except exists from group having in intersect is isnull
    join limit not notnull null on or order select then union using values when where
"""
_NO_CALLS = frozenset(_NO_CALL_WORDS.split())
# Words that a function can be named by, too (SQLite reads them as names where the grammar has no place for the word):
# what tells one from the other is what stands before. `offset` and `match` come after a value, that is not after these.
_AFTER = {
    "by": ("order", "group", "partition"),
    "filter": (")",),
    "over": (")",),
    "materialized": ("as", "not"),
}
_BEFORE_VALUES = _NO_CALLS | {"by", "match", "offset", "like", "glob", "rows", "range", "groups", "returning", "set"}

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

_WRITING_WORDS = frozenset(("insert", "update", "delete", "replace"))
_EXPLAINED = _WRITING_WORDS | {"select", "values", "with"}  # `explain` runs none of these

# Pragmas that only tell something (https://www.sqlite.org/pragma.html): alone, and with an argument in brackets. A
# value in brackets sets most others, as `=` does.
_TELLING_NAMES = """
    application_id auto_vacuum busy_timeout cache_size collation_list compile_options data_version database_list
    defer_foreign_keys encoding foreign_key_check foreign_key_list foreign_keys freelist_count function_list index_info
    index_list index_xinfo integrity_check journal_mode max_page_count mmap_size module_list page_count page_size
    pragma_list quick_check recursive_triggers schema_version synchronous table_info table_list table_xinfo user_version
"""
_TELLING = frozenset(_TELLING_NAMES.split())
_TELLING_OF_NAMES = """
    foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check quick_check table_info
    table_list table_xinfo
"""
_TELLING_OF = frozenset(_TELLING_OF_NAMES.split())


_OPEN, _CLOSE, _END = (SIGN, "("), (SIGN, ")"), (SIGN, ";")


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
    """A statement's first word after white space, comments and semicolons, in lower case; "" where there is none."""
    kind, text = next((token for token in tokens(sql) if token != _END), ("", ""))
    return text if kind == WORD else ""


def why_not_reading(sql: str) -> str:
    """Why a statement can't be taken for one that only reads, as half a sentence; "" where it can.

    It can where it is one statement, begins with `select`, and calls only functions that SQLite ships (mcp.md
    section 1; `with … select` does not count).
    """
    earlier = before = ("", "")
    begun = ended = False
    for token in tokens(sql):
        kind, text = token
        if kind == BROKEN:
            return f"has a {text} that is never closed"
        if token == _END:
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
        elif token == _OPEN:
            if _hides_text(before):
                return f"has `(` right after the parameter `{before[1]}`"
            if _is_called(earlier, before) and before[1] not in SHIPPED:
                return f"calls `{before[1]}`, which SQLite does not ship"
        earlier, before = before, token
    return "" if begun else "is empty"


def reads_only(sql: str) -> bool:
    """Whether a statement surely only reads. See `why_not_reading`."""
    return not why_not_reading(sql)


def may_change(sql: str) -> bool:
    """Whether a statement may change the database: every one that is not known only to read.

    Known to read are one `select` or `values`, also after `with`, that calls only functions that SQLite ships;
    `explain` of these and of what changes rows, which runs nothing; and a `pragma` that only tells something.
    """
    words = list(tokens(sql))
    while words and words[-1] == _END:
        words.pop()
    while words and words[0] == _END:
        del words[0]
    if not words or words[-1][0] == BROKEN or _END in words:
        return True
    kind, first = words[0]
    if kind != WORD:
        return True
    if first == "explain":
        explained = words[3:] if words[1:3] == [(WORD, "query"), (WORD, "plan")] else words[1:]
        return not (explained and explained[0][0] == WORD and explained[0][1] in _EXPLAINED)
    if first == "pragma":
        return not _tells(words[1:])
    if first not in ("select", "values", "with"):
        return True
    return (first == "with" and _has_writing_word(words)) or _calls_others(words)


def _tells(words: list[tuple[str, str]]) -> bool:
    """Whether a pragma, without that word, only tells something: `name`, `schema.name`, either with an argument."""
    if len(words) > 2 and words[1] == (SIGN, "."):
        words = words[2:]
    match words:
        case [(_, name)]:
            return name in _TELLING
        case [(_, name), ("sign", "("), _, ("sign", ")")]:
            return name in _TELLING_OF
    return False


def _has_writing_word(words: list[tuple[str, str]]) -> bool:
    """Whether a statement that begins with `with` may go on with one that changes rows."""
    # `replace (` is the function of that name, every other one of these words begins a statement.
    return any(
        kind == WORD and text in _WRITING_WORDS and after != _OPEN
        for (kind, text), after in zip(words, [*words[1:], _END], strict=True)
    )


def _calls_others(words: list[tuple[str, str]]) -> bool:
    """Whether a statement may call a function that SQLite does not ship."""
    earlier = before = ("", "")
    for place, token in enumerate(words):
        if token == (WORD, "regexp"):
            return True
        if token == _OPEN and _hides_text(before):
            return True
        if token == _OPEN and _is_called(earlier, before):
            name = before[1]
            known = name in SHIPPED or name.removeprefix("pragma_") in _TELLING
            if not known and not _names_columns(words, place):
                return True
        earlier, before = before, token
    return False


def _names_columns(words: list[tuple[str, str]], place: int) -> bool:
    """Whether the bracket at `place` holds the columns of a table of `with`: `n(a, b) as (`; no call goes on so."""
    close = next((at for at in range(place, len(words)) if words[at] == _CLOSE), len(words))
    after = [token for token in words[close + 1 : close + 5] if token[1] not in ("not", "materialized")]
    return after[:2] == [(WORD, "as"), _OPEN]


def _is_called(earlier: tuple[str, str], before: tuple[str, str]) -> bool:
    """Whether the token before an opening bracket may be the name of a function; `earlier` is the one before that."""
    kind, text = before
    if kind != WORD:
        return kind == NAME
    if text in _AFTER:
        return earlier[0] == NAME or earlier[1] not in _AFTER[text]
    if text == "offset" or text == "match":
        return (earlier[0] == SIGN and earlier != _CLOSE) or (earlier[0] == WORD and earlier[1] in _BEFORE_VALUES)
    return text not in _NO_CALLS


def _hides_text(before: tuple[str, str]) -> bool:
    """Whether a token before an opening bracket takes what stands in it: SQLite reads `$a(…)` and `:a(…)` as one
    parameter, whatever that is, so there is nothing to vouch for."""
    return before[0] == PARAMETER and not before[1].startswith("?")
