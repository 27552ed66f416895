"""Reads `compiler/prelude.qwe`: every builtin with its overloads, where it lives, and its doc taken apart.

`make_prelude` makes the compiler's table of it, `make_reference` the pages of the reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from compiler import syntax
from compiler.builtins import Builtin, BuiltinParameter, Overload
from compiler.diagnostics import Diagnostics
from compiler.parser import parse
from compiler.source import Source, decode

ROOT = Path(__file__).resolve().parent.parent
PRELUDE = ROOT / "compiler" / "prelude.qwe"

KINDS = ("native", "host", "inline")
_PROSE = ("edge", "error")
_CODE = ("example", "output", "sketch")
_WORDS = ("see", "change", "hidden")


class PreludeError(Exception):
    """The prelude breaks a rule of its own; the text says where and which."""


@dataclass
class Example:
    """`output` is None for a sketch, which is checked but not run."""

    code: str
    output: str | None = None


@dataclass
class Doc:
    """A builtin's doc. `paragraphs` are those before the first tag; the first one says what it does."""

    paragraphs: list[str] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    see: list[str] = field(default_factory=list)
    change: str = ""
    hidden: bool = False


@dataclass
class Entry:
    """A builtin, its doc, and its heads as a page shows them (one an overload, without the body)."""

    builtin: Builtin
    doc: Doc
    heads: list[str]
    section: str


def read_prelude() -> list[Entry]:
    """Every builtin in the order of the prelude. Raises PreludeError."""
    source = decode("compiler/prelude.qwe", PRELUDE.read_bytes())
    diagnostics = Diagnostics()
    file = parse(source, diagnostics)
    found = diagnostics.in_order()
    if found:
        raise PreludeError("\n".join(map(str, found)))
    sections = [(match.start(), match[1]) for match in re.finditer(r"^// --- (.*?) -+$", source.text, re.MULTILINE)]
    entries: dict[str, Entry] = {}
    for node in file.statements:
        if not isinstance(node, syntax.Function) or node.name is None:
            raise PreludeError(f"{source.name}:{source.line(node.start)}: only functions belong here")
        section = [title for start, title in sections if start < node.start][-1]
        _add(entries, node, source, section)
    return list(entries.values())


def _add(entries: dict[str, Entry], node: syntax.Function, source: Source, section: str) -> None:
    assert node.name is not None
    name = re.sub("^db_", "db.", node.name)
    where = f"{source.name}:{source.line(node.start)}"
    kind = node.body.name if isinstance(node.body, syntax.Name) and node.body.name in KINDS else "quillo"
    overload = _overload(node, source, kind, where)
    head = _head(name, _between(source, node.name_start + len(node.name), node.head_end))
    known = entries.get(name)
    if known is not None:
        if node.doc is not None or kind != known.builtin.kind or kind == "quillo":
            raise PreludeError(f"{where}: a further overload of `{name}` has no doc and lives where the first one does")
        known.builtin = known.builtin._replace(overloads=(*known.builtin.overloads, overload))
        known.heads.append(head)
        return
    if node.doc is None:
        raise PreludeError(f"{where}: `{name}` has no doc")
    doc = read_doc(node.doc, where)
    code = _source_without_variables(node, source) if kind == "quillo" else ""
    effect = node.effects[0] if node.effects else ""
    hidden = doc.hidden or name.startswith("_")
    builtin = Builtin(name, (overload,), kind, effect, doc.change, doc.paragraphs[0], code, hidden)
    entries[name] = Entry(builtin, doc, [head], section)


def _head(name: str, head: str) -> str:
    """A head as a page shows it: what only the prelude knows is written out."""
    head = head.replace("rest: any", "...rest: any").replace(" ! Failure", " ! { kind: str, message: str }")
    return name + head.replace("-> error ! any", "-> error").replace("= _itself", "= x => x")


def _overload(node: syntax.Function, source: Source, kind: str, where: str) -> Overload:
    parameters = []
    for parameter in node.parameters:
        if parameter.type is None or node.result is None:
            raise PreludeError(f"{where}: every parameter and the result need a type")
        default, has_default = None, parameter.default is not None
        if isinstance(parameter.default, syntax.Literal):
            default = parameter.default.value
        elif has_default and kind != "quillo":
            raise PreludeError(f"{where}: the default of `{parameter.name}` must be a literal")
        written = _between(source, parameter.type.start, parameter.type.end)
        parameters.append(BuiltinParameter(parameter.name, written, has_default, default))
    if node.result is None:
        raise PreludeError(f"{where}: the result needs a type")
    variadic = bool(parameters) and parameters[-1].name == "rest"
    result = _between(source, node.result.start, node.result.end)
    return Overload(tuple(parameters), variadic, result, node.error is not None)


def _between(source: Source, start: int, end: int) -> str:
    """A piece of the source on one line."""
    text = re.sub(r"\s+", " ", source.text[start:end])
    return text.replace("( ", "(").replace(", )", ")").rstrip()


def _source_without_variables(node: syntax.Function, source: Source) -> str:
    """The declaration with `any` for each type that only the prelude knows: type variables and `Failure`."""
    written = [parameter.type for parameter in node.parameters] + [node.result, node.error]
    names = [name for type in written if type is not None for name in _named_types(type)]
    text, start = source.text, source.text.rindex("fn ", 0, node.name_start)
    pieces, at = [], start
    for name in sorted(names, key=lambda name: name.start):
        if name.name == "Failure" or re.fullmatch("[A-Z]", name.name):
            pieces += [text[at : name.start], "any"]
            at = name.end
    return "".join([*pieces, text[at : node.end]])


def _named_types(node: syntax.TypeNode) -> list[syntax.NamedType]:
    match node:
        case syntax.NamedType():
            return [node] + [name for argument in node.arguments for name in _named_types(argument)]
        case syntax.OptionalType():
            return _named_types(node.inner)
        case syntax.UnionType():
            return [name for member in node.members for name in _named_types(member)]
        case syntax.RecordType():
            return [name for each in node.fields for name in _named_types(each.type)]
        case syntax.FunctionType():
            parts = [*node.parameters, *([node.result] if node.result else [])]
            return [name for part in parts for name in _named_types(part)]
    return []


def read_doc(text: str, where: str) -> Doc:
    """A doc taken apart. Raises PreludeError for a tag that isn't known and for an example without its output."""
    doc = Doc()
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.split("\n"):
        tag = re.match(r"@([a-z]+)(?: (.*))?$", line)
        if tag is None:
            parts[-1][1].append(line)
        elif tag[1] in _PROSE + _CODE + _WORDS:
            parts.append((tag[1], [tag[2]] if tag[2] else []))
        else:
            raise PreludeError(f"{where}: there is no tag `@{tag[1]}`")
    doc.paragraphs = [part.replace("\n", " ").strip() for part in "\n".join(parts[0][1]).split("\n\n") if part.strip()]
    for name, lines in parts[1:]:
        _put(doc, name, lines, where)
    if any(example.output == "" for example in doc.examples):
        raise PreludeError(f"{where}: an `@example` needs its `@output`")
    return doc


def _put(doc: Doc, tag: str, lines: list[str], where: str) -> None:
    prose = " ".join(lines).strip()
    code = "\n".join(lines).strip("\n")
    if tag == "edge":
        doc.edges.append(prose)
    elif tag == "error":
        doc.errors.append(prose)
    elif tag == "see":
        doc.see += [name.strip() for name in prose.split(",")]
    elif tag == "change":
        doc.change = prose
    elif tag == "hidden":
        doc.hidden = True
    elif tag == "sketch":
        doc.examples.append(Example(code))
    elif tag == "example":
        doc.examples.append(Example(code, ""))
    elif not doc.examples or doc.examples[-1].output != "":
        raise PreludeError(f"{where}: `@output` belongs under an `@example`")
    else:
        doc.examples[-1].output = code
