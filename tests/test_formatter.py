"""`quillo fmt` writes every program in one style, and changes nothing else about it."""

from __future__ import annotations

import dataclasses
import random
import re
import stat
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner

from cli.commands import group
from compiler import formatter_layout, formatter_parts
from compiler.compile import compile_program
from compiler.diagnostics import Diagnostics
from compiler.formatter import format_source, laid_out, same_tokens
from compiler.formatter_reading import tokens_of
from compiler.parser import parse
from compiler.source import Source, SourceError
from compiler.syntax import File
from tools.fuzz import mutate

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted(
    [*(ROOT / "tests").rglob("*.qwe"), *(ROOT / "examples").rglob("*.qwe"), *(ROOT / "bench").rglob("*.qwe")]
)
PRELUDE = ROOT / "compiler" / "prelude.qwe"


def parsed(text: str) -> File:
    return parse(Source("main.qwe", text), Diagnostics())


def formatted(text: str) -> str:
    """The text in the one style. Fails if it has mistakes, or if the layout was thrown away."""
    source = Source("main.qwe", text)
    file = parsed(text)
    assert not file.has_errors
    result = laid_out(source, file.comments)
    assert same_tokens(source, Source("main.qwe", result))
    assert format_source(source, Diagnostics()) == result
    return result


def comments(file: File) -> list[str]:
    """All comments, without the white space that a comment over several lines may have otherwise."""
    text = file.source.text
    return sorted("".join(text[start:end].split()) for start, end in file.comments)


PLACES = {"start", "end", "name_start", "head_end", "path_start", "source", "comments", "notes"}


def difference(one: Any, other: Any) -> Any:
    """The first two parts in which two trees differ, but for their places; None if there are none."""
    pairs = [(one, other)]
    while pairs:
        first, second = pairs.pop()
        if type(first) is not type(second):
            return first, second
        if dataclasses.is_dataclass(first):
            for field in dataclasses.fields(first):
                if field.name == "names" and first.names:  # those of an `import`, each with its place
                    pairs.append(([name for name, _ in first.names], [name for name, _ in second.names]))
                elif field.name not in PLACES:
                    pairs.append((getattr(first, field.name), getattr(second, field.name)))
        elif isinstance(first, list):
            if len(first) != len(second):
                return first, second
            pairs += zip(first, second, strict=True)
        elif first != second:
            return first, second
    return None


def keeps_its_promises(text: str) -> str:
    """Formats a program without mistakes and holds the result against it."""
    before = parsed(text)
    result = format_source(Source("main.qwe", text), Diagnostics())
    assert result is not None
    after = parsed(result)
    assert not after.has_errors
    assert difference(before, after) is None
    assert (before.notes or ("",))[0] == (after.notes or ("",))[0]
    assert comments(before) == comments(after)
    assert format_source(Source("main.qwe", result), Diagnostics()) == result
    return result


# --- the style, rule by rule --------------------------------------------------------------------------------------

STYLE = {
    "spaces stand around operators and behind commas, and nowhere else": (
        "let x=a+b*-c   ==!d\nf( a ,b:1 )\nlet r=xs[ 1 .. 3 ] .y?.z ? ??0",
        "let x = a + b * -c == !d\nf(a, b: 1)\nlet r = xs[1..3].y?.z? ?? 0\n",
    ),
    "a postfix `?` never runs into the dot behind it": (
        "let a = f()? .b\nlet c = f()?\n  .d",
        "let a = f()? .b\nlet c = f()?\n  .d\n",
    ),
    "types and heads": (
        "type T={a:int,b?:list<map<str>>?,c:fn(int)->bool}\nfn  mcp f( a:T=1 )->int!str  with db,http=a",
        "type T = { a: int, b?: list<map<str>>?, c: fn(int) -> bool }\n"
        "fn mcp f(a: T = 1) -> int ! str with db, http = a\n",
    ),
    "records and blocks have spaces inside, lists and calls have none": (
        "let r={a:[ 1 ],b:{}}\nlet f=x=>{x}\nlet g = ()=>{}\nfn h(){}",
        "let r = { a: [1], b: {} }\nlet f = x => { x }\nlet g = () => {}\nfn h() {}\n",
    ),
    "an empty block behind `=>` stays a block": ("let f = () => {;}", "let f = () => {;}\n"),
    "each statement has its line, but for those of a block on one line": (
        "a; b;; c\nfn f() { a; b; }\nfn g() { a; b\n}",
        "a\nb\nc\nfn f() { a; b }\nfn g() {\n  a\n  b\n}\n",
    ),
    "at most one blank line is kept, and none at the ends of a block": (
        "\n\na\n\n\n\nb\nfn f() {\n\n  c\n\n\n  d\n\n}\n\n\n",
        "a\n\nb\nfn f() {\n  c\n\n  d\n}\n",
    ),
    "what the author broke stays broken, item by item or in rows": (
        "f(a,\nb)\nlet m=[1,2,\n3,4]\nlet r={ a:1,\n\n b:2}",
        "f(\n  a,\n  b,\n)\nlet m = [\n  1, 2,\n  3, 4,\n]\nlet r = {\n  a: 1,\n\n  b: 2,\n}\n",
    ),
    "a comma stands behind the last item only before a line's end": (
        "f(a,)\nlet r = [\n  1\n]\nlet [a, ...b] = [\n  ...c,\n]",
        "f(a)\nlet r = [\n  1,\n]\nlet [a, ...b] = [\n  ...c\n]\n",
    ),
    "an `if` is on one line as a whole, or none of its blocks is": (
        "if a { b } else { c }\nif a { b }\nelse { c }\nif a { b } else if c {\nd }",
        "if a { b } else { c }\nif a {\n  b\n} else {\n  c\n}\nif a {\n  b\n} else if c {\n  d\n}\n",
    ),
    "the arms of a `match` have commas on one line, and lines without commas else": (
        "match a { 1=>b,_=>c, }\nmatch a { 1=>b,\n-1|2 if c=>{d}\n_=>e }",
        "match a { 1 => b, _ => c }\nmatch a {\n  1 => b\n  -1 | 2 if c => { d }\n  _ => e\n}\n",
    ),
    "pipes, `??`, `&&` and `||` begin lines, other operators end them; all of a chain does or none": (
        "let a = xs |\n  map(f) | join\nlet b = (c\n  + d)\nlet e = f\n  && g && h || i",
        "let a = xs\n  | map(f)\n  | join\nlet b = (c +\n  d)\nlet e = f\n  && g\n  && h || i\n",
    ),
    "fields begin lines where the author has them so": (
        "let a = b.\n  c().d",
        "let a = b\n  .c().d\n",
    ),
    "tags": (
        'let a = <p.b#c   class = "d" hidden  @click = {n+=1 ;m=2} {...e}  >x  y</ p >',
        'let a = <p.b#c class="d" hidden @click={n += 1; m = 2} {...e}>x y</p>\n',
    ),
    "a bare value keeps its distance from the tag's end": (
        "let a = <a href=/x/ >y</a>\nlet b = <img src=x/>",
        "let a = <a href=/x/ >y</a>\nlet b = <img src=x/>\n",
    ),
    "an element that the author broke has its tags on lines of their own": (
        "let a = <ul><li>b</li>\n<li>c\nd</li>\n\n\n\n{e}</ul>",
        "let a = <ul>\n  <li>b</li>\n  <li>\n    c\n    d\n  </li>\n\n  {e}\n</ul>\n",
    ),
    "a space that touches a tag never becomes a line's end, nor the other way round": (
        "let a = <p> b <i>c</i> d\n</p>\nlet e = <p><i>f</i> <i>g</i></p>",
        "let a = <p> b <i>c</i> d\n</p>\nlet e = <p><i>f</i> <i>g</i></p>\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), STYLE.values(), ids=STYLE)
def test_the_style(before, after):
    assert formatted(before) == after
    assert keeps_its_promises(before) == after
    assert formatted(after) == after


# With lines of 40 columns, so that these are short enough to read.
LONG = {
    "a body moves to the next line, if it fits there": (
        "let name = function_of_two(first, second, 3)",
        "let name =\n  function_of_two(first, second, 3)\n",
    ),
    "a call has its arguments on lines of their own": (
        'function_of_three(first, "second", third: [1, 2])',
        'function_of_three(\n  first,\n  "second",\n  third: [1, 2],\n)\n',
    ),
    "a record at the end of a call is broken in its place": (
        'send("all", { method: "POST", headers: { accept: "text/html" } })',
        'send("all", {\n  method: "POST",\n  headers: { accept: "text/html" },\n})\n',
    ),
    "a block at the end of a call is, too": (
        "each(names, name => { print(name); count += 1 })",
        "each(names, name => {\n  print(name)\n  count += 1\n})\n",
    ),
    "pipes go before arguments": (
        "let old = people | filter(p => p.age > 80) | map(p => p.name)",
        "let old =\n  people\n  | filter(p => p.age > 80)\n  | map(p => p.name)\n",
    ),
    "the loosest operator goes first": (
        "let ok = first == second && third || fourth && fifth > sixth",
        "let ok =\n  first == second && third\n  || fourth && fifth > sixth\n",
    ),
    "a head goes on deeper than its block": (
        "if first == second && third || fourth == fifth { go() }",
        "if first == second && third\n    || fourth == fifth {\n  go()\n}\n",
    ),
    "all blocks of an `if` are broken": (
        "if first == second { third } else { fourth }",
        "if first == second {\n  third\n} else {\n  fourth\n}\n",
    ),
    "parameters": (
        "fn send(to: list<str>, text: str, urgent = false) -> int { 1 }",
        "fn send(\n  to: list<str>,\n  text: str,\n  urgent = false,\n) -> int { 1 }\n",
    ),
    "the types of a union": (
        'type Colour = "crimson" | "scarlet" | "ultramarine" | "teal"',
        'type Colour =\n  "crimson"\n  | "scarlet"\n  | "ultramarine"\n  | "teal"\n',
    ),
    "an element's children": (
        "let a = <ul><li>first</li><li>second</li>{third}</ul>",
        "let a = <ul>\n  <li>first</li>\n  <li>second</li>\n  {third}\n</ul>\n",
    ),
    "attributes": (
        'let a = <a href="/somewhere" title={the_title_of(a)} hidden>b</a>',
        'let a = <a\n  href="/somewhere"\n  title={the_title_of(a)}\n  hidden\n>\n  b\n</a>\n',
    ),
    "text fills its lines, and clings to the tags that it touches": (
        "let a = <p>Some text that runs on, <b>with</b> a {name} in it.</p>",
        "let a = <p>\n  Some text that runs on, <b>with</b> a\n  {name} in it.\n</p>\n",
    ),
    "a comment is no reason to break a line": (
        "let a = f(b) // that goes on beyond the end of the line",
        "let a = f(b) // that goes on beyond the end of the line\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), LONG.values(), ids=LONG)
def test_long_lines_are_broken_at_their_loosest_place(before, after, monkeypatch):
    narrow(monkeypatch, 40)
    assert formatted(before) == after
    assert keeps_its_promises(before) == after


def narrow(monkeypatch, limit: int) -> None:
    for module in (formatter_parts, formatter_layout):
        monkeypatch.setattr(module, "LIMIT", limit)


COMMENTS = {
    "on lines of their own": (
        "// a\nfn f() {\n// b\nx\n// c\n}\n// d",
        "// a\nfn f() {\n  // b\n  x\n  // c\n}\n// d\n",
    ),
    "at the ends of lines": (
        "a    // b\nf(c,   // d\ne// f\n)\nlet r = { // g\n a: 1 } // h",
        "a // b\nf(\n  c, // d\n  e, // f\n)\nlet r = { // g\n  a: 1,\n} // h\n",
    ),
    "in the middle": (
        "let a/*b*/=c/*d*/+e\nf(/*g*/h/*i*/,/*j*/k)\nfn l(m /*n*/) /*o*/ {/*p*/ q /*r*/}",
        "let a /*b*/ = c /*d*/ + e\nf(/*g*/ h /*i*/, /*j*/ k)\nfn l(m /*n*/) /*o*/ { /*p*/ q /*r*/ }\n",
    ),
    "in chains": (
        "let a = b // c\n// d\n| e // f\nlet g = 1 + // h\n2",
        "let a = b // c\n  // d\n  | e // f\nlet g = 1 + // h\n  2\n",
    ),
    "beside `;` and `,`": (
        "a /* b */; /* c */ d; e /* f */\nmatch a { 1 => b, /* c */ 2 => d }",
        "a /* b */\n/* c */ d\ne /* f */\nmatch a { 1 => b, /* c */ 2 => d }\n",
    ),
    "before `else`": (
        "if a { b }\n// c\nelse { d }",
        "if a {\n  b\n}\n// c\nelse {\n  d\n}\n",
    ),
    "where nothing else stands": (
        "f(// a\n)\nlet b = [/* c */]\nfn d() {\n// e\n}\nlet g = <p>{/* h */}{// i\n}</p>",
        "f( // a\n)\nlet b = [/* c */]\nfn d() {\n  // e\n}\nlet g = <p>\n  {/* h */}{// i\n  }\n</p>\n",
    ),
    "between tags": (
        "let a = <p><!-- b -->c<!-- d --> e\n<!-- f --></p>",
        "let a = <p>\n  <!-- b -->c<!-- d --> e\n  <!-- f -->\n</p>\n",
    ),
    "over lines, moved as a whole": (
        "fn f() {\n        /* a\n           b\n        */\n  c\n}",
        "fn f() {\n  /* a\n     b\n  */\n  c\n}\n",
    ),
    "docs and notes": (
        "//!   a\n//! b\n///   c\n\n/// d\nfn f() = 1",
        "//!   a\n//! b\n///   c\n\n/// d\nfn f() = 1\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), COMMENTS.values(), ids=COMMENTS)
def test_every_comment_stays_at_its_place(before, after):
    assert formatted(before) == after
    assert keeps_its_promises(before) == after


KEPT = [
    "`a ${  b+c  }\n   ${`d ${ e }`}  `",
    "sql`select  *\n from a where b=${ c }`",
    '"a  \\n b"',
    "<script>if (a<b) {\n   go( )\n}</script>",
    "<style> a  { b:c } </style>",
    "<pre>\n  a   {b+c}\n</pre>",
    "<textarea>  a\n</textarea>",
]


@pytest.mark.parametrize("kept", KEPT)
def test_templates_texts_and_raw_elements_keep_every_byte(kept):
    for before in (f"let  x={kept}", f"f( a,{kept} )", f"fn f(){{\n{kept} }}", f"let y = <div>\n{{{kept}}}</div>"):
        assert kept in formatted(before)
        assert kept in keeps_its_promises(before)


# --- nothing else changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PROGRAMS, PRELUDE], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_tree_and_the_comments_of_every_program_here_stay(path):
    text = Source("", path.read_text("utf-8")).text
    if parsed(text).has_errors:
        diagnostics = Diagnostics()
        assert format_source(Source("main.qwe", text), diagnostics) is None
        assert diagnostics.has_errors
        return
    result = keeps_its_promises(text)
    assert result == formatted(text)
    assert result.endswith("\n")
    assert not result.endswith("\n\n")


def module_of(path: Path, text: str) -> Any:
    """What a program is compiled to, without its lines and its text; None where it has mistakes."""

    def load(used: str) -> Source:
        try:
            return Source(used, (path.parent / used).read_text("utf-8"))
        except OSError:
            raise SourceError("is not there") from None

    module = compile_program(Source("main.qwe", text), load, "main", Diagnostics())
    if module is None:
        return None
    for function in module.functions:
        function.lines = []
        function.line = 0
    module.files = []
    return module


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_program_here_is_compiled_to_the_same(path):
    text = path.read_text("utf-8")
    result = format_source(Source("main.qwe", text), Diagnostics())
    assert result is None or module_of(path, result) == module_of(path, text)


@cache
def pieces_of_programs() -> list[str]:
    """Small programs, so that a few changes leave a good part of them without mistakes."""
    texts = [before for before, _ in [*STYLE.values(), *LONG.values(), *COMMENTS.values()]]
    for path in PROGRAMS:
        file = parsed(path.read_text("utf-8"))
        statements = [] if file.has_errors else file.statements
        for start in range(0, len(statements), 3):
            last = statements[min(start + 3, len(statements)) - 1]
            texts.append(file.source.text[statements[start].start : last.end] + "\n")
    return texts


def relaid(text: str, chance: random.Random) -> str:
    """A program with line ends and comments put in, or white space taken away, before or behind some of its words."""
    tokens = tokens_of(Source("main.qwe", text))
    places = sorted({token.start for token in tokens} | {token.end for token in tokens})
    for place in sorted(chance.sample(places, min(len(places), chance.randint(1, 6))), reverse=True):
        kind = chance.randrange(4)
        end = place
        if kind == 0:
            while text[end : end + 1] in (" ", "\n"):
                end += 1
        added = [
            ("", " ", "\n"),
            ("\n", "\n\n\n", " ", "  \n  "),
            (" /* c */ ", "/* c */", "/* c\n d */", "<!-- c -->"),
            (" // c\n", "\n// c\n", "\n/// c\n", "// c\n\n"),
        ][kind]
        text = text[:place] + chance.choice(added) + text[end:]
    return text


@pytest.mark.parametrize("limit", [formatter_parts.LIMIT, 50, 20])
@pytest.mark.parametrize("change", [relaid, mutate])
def test_so_it_is_for_programs_changed_at_random(change, limit, monkeypatch):
    narrow(monkeypatch, limit)  # the narrower lines are, the more is broken
    texts = pieces_of_programs()
    without_mistakes = 0
    for number in range(300):
        chance = random.Random(number)
        text = change(chance.choice(texts), chance)
        if parsed(text).has_errors:
            assert format_source(Source("main.qwe", text), Diagnostics()) is None
            continue
        without_mistakes += 1
        keeps_its_promises(text)
    assert without_mistakes > 50


@pytest.mark.parametrize(
    "text",
    [
        "let x = " + "(" * 190 + "a" + ")" * 190,
        "let x = " + "[" * 190 + "a, b" + "]" * 190,
        "f(" * 190 + "a" + ")" * 190,
        "if a { " * 190 + "b" + " }" * 190,
        "let x = " + "<b>" * 190 + "a" + "</b>" * 190,
        "let x = " + "a => " * 190 + "b",
        "let x = a" + " + b" * 3000,
        "let x = a" + ".b(c)" * 3000,
        "let x = a" + " | b" * 3000,
        "if a { b }" + " else if c { d }" * 1000,
        "let x = <p>" + "word " * 3000 + "</p>",
    ],
    ids=lambda text: text[:20],
)
def test_deep_and_long_programs_are_no_trouble(text):
    keeps_its_promises(text)


def test_a_source_with_mistakes_is_left_alone_and_its_mistakes_are_told():
    diagnostics = Diagnostics()
    assert format_source(Source("main.qwe", "let  x =\nlet y = )"), diagnostics) is None
    assert next(str(one) for one in diagnostics.in_order()).startswith("main.qwe:1: error: ")


def test_a_layout_that_would_change_the_meaning_is_not_used():
    # Once the `;` is gone, the doc would be that of the function.
    text = "/// Of nothing.\n; fn  f() = 1\n"
    assert format_source(Source("main.qwe", text), Diagnostics()) == text


def test_the_page_about_the_style_shows_it():
    page = (ROOT / "docs" / "style.md").read_text("utf-8")
    shown = [dedent(block) for block in re.findall(r"(?:^    .*\n)+", page, re.MULTILINE)]
    assert len(shown) == 4
    for text in shown:
        assert formatted(text) == text


def test_nothing_stays_nothing():
    assert formatted("") == formatted("\n  \n") == ""


# --- the command --------------------------------------------------------------------------------------------------


def fmt(*arguments: object, input: bytes | None = None) -> tuple[int, str, str]:
    """Status, standard output and standard error of `quillo fmt`."""
    result = CliRunner().invoke(group, ["fmt", *map(str, arguments)], input=input, prog_name="quillo")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.qwe").write_text("let  x=1\n", "utf-8")
    (tmp_path / "fine.qwe").write_text("let x = 1\n", "utf-8")
    (tmp_path / "wrong.qwe").write_text("let  x=\n", "utf-8")
    (tmp_path / "deeper" / ".hidden").mkdir(parents=True)
    (tmp_path / "deeper" / "crlf.qwe").write_bytes(b"\xef\xbb\xbflet x = 1\r\n")
    (tmp_path / "deeper" / ".hidden" / "main.qwe").write_text("let  x=1\n", "utf-8")
    (tmp_path / "deeper" / "other.txt").write_text("let  x=1\n", "utf-8")
    return tmp_path


def test_fmt_writes_what_changes_and_names_it(folder):
    assert fmt("main.qwe", "fine.qwe") == (0, "main.qwe\n", "")
    assert (folder / "main.qwe").read_bytes() == b"let x = 1\n"
    assert fmt("main.qwe", "fine.qwe") == (0, "", "")


def test_fmt_check_writes_nothing(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert fmt("--check", "main.qwe", "fine.qwe", "deeper") == (1, "main.qwe\ndeeper/crlf.qwe\n", "")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert fmt("--check", "fine.qwe") == (0, "", "")


def test_fmt_of_a_folder_takes_its_programs_once_each_and_nothing_hidden(folder):
    (folder / "wrong.qwe").unlink()
    assert fmt(".", "main.qwe") == (0, "./main.qwe\n./deeper/crlf.qwe\n", "")
    assert (folder / "deeper" / "crlf.qwe").read_bytes() == b"let x = 1\n"
    assert (folder / "deeper" / ".hidden" / "main.qwe").read_bytes() == b"let  x=1\n"
    assert (folder / "deeper" / "other.txt").read_bytes() == b"let  x=1\n"


def test_fmt_leaves_a_file_with_mistakes_alone_and_does_the_others(folder):
    status, output, errors = fmt("wrong.qwe", "main.qwe")
    assert (status, output) == (1, "main.qwe\n")
    assert errors.startswith("wrong.qwe:1: error: ")
    assert (folder / "wrong.qwe").read_bytes() == b"let  x=\n"


def test_fmt_of_standard_input_writes_to_standard_output(folder):
    assert fmt("-", input='let  x="é"'.encode()) == (0, 'let x = "é"\n', "")
    assert fmt("--check", "-", input=b"let  x=1") == (1, "-\n", "")
    status, output, errors = fmt("-", input=b"let  x=")
    assert (status, output) == (1, "")
    assert errors.startswith("standard input:1: error: ")


def test_fmt_says_what_it_cannot_read(folder):
    (folder / "latin.qwe").write_bytes(b'let x = 1\nlet y = "\xe9"\n')
    (folder / "empty").mkdir()
    assert fmt("nowhere.qwe") == (1, "", "nowhere.qwe: error: it is not there\n")
    assert fmt("empty") == (1, "", "empty: error: there is no .qwe file in this folder\n")
    assert fmt("latin.qwe") == (1, "", "latin.qwe:2: error: byte 0xe9 is not UTF-8: save the file as UTF-8\n")
    assert fmt()[0] == 2


def test_fmt_keeps_permissions_links_and_no_other_file(folder):
    (folder / "main.qwe").chmod(0o750)
    (folder / "link.qwe").symlink_to("main.qwe")
    names = sorted(path.name for path in folder.iterdir())
    assert fmt("link.qwe") == (0, "link.qwe\n", "")
    assert (folder / "link.qwe").is_symlink()
    assert (folder / "main.qwe").read_bytes() == b"let x = 1\n"
    assert stat.S_IMODE((folder / "main.qwe").stat().st_mode) == 0o750
    assert sorted(path.name for path in folder.iterdir()) == names
