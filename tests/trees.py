"""Writes a parsed tree as a short text, so that a test can say in one line what a source means."""

from __future__ import annotations

import json
from typing import Any

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.parser import parse
from compiler.source import Source


def tree(text: str) -> str:
    """The statements of a source without mistakes, one after another, with `; ` between."""
    diagnostics = Diagnostics()
    file = parse(Source("main.qwe", text), diagnostics)
    found = [str(diagnostic) for diagnostic in diagnostics.in_order()]
    assert not found, found
    assert not file.has_errors
    return "; ".join(written(statement) for statement in file.statements)


def mistakes(text: str) -> list[str]:
    """What is found wrong in a source, each as `LINE:COLUMN CODE MESSAGE`."""
    diagnostics = Diagnostics()
    file = parse(Source("main.qwe", text), diagnostics)
    found = diagnostics.in_order()
    assert file.has_errors == any(diagnostic.severity == "error" for diagnostic in found)
    places = [diagnostic.source.position(diagnostic.start) for diagnostic in found]
    return [
        f"{line}:{column} {diagnostic.code} {diagnostic.message}"
        for (line, column), diagnostic in zip(places, found, strict=True)
    ]


def written(node: Any) -> str:
    """One node as text."""
    if node is None:
        return "_"
    if isinstance(node, str):
        return json.dumps(node, ensure_ascii=False)
    return _WRITERS[type(node)](node)


def _all(nodes: Any) -> str:
    return "".join(f" {written(node)}" for node in nodes)


def _function(node: syntax.Function) -> str:
    words = [word for word in ("private", "server", "mcp") if getattr(node, word)]
    name = f" {node.name}" if node.name else ""
    result = f" -> {written(node.result)}" if node.result else ""
    error = f" ! {written(node.error)}" if node.error else ""
    effects = "" if node.effects is None else f" with {','.join(node.effects)}"
    parameters = " ".join(written(parameter) for parameter in node.parameters)
    return f"({' '.join([*words, 'fn'])}{name} ({parameters}){result}{error}{effects} {written(node.body)})"


def _parameter(node: syntax.Parameter) -> str:
    type = f": {written(node.type)}" if node.type else ""
    default = f" = {written(node.default)}" if node.default else ""
    return f"{node.name}{type}{default}"


def _element(node: syntax.Element) -> str:
    marks = "".join(f" {mark}" for mark in ("doctype", "component", "raw", "void") if getattr(node, mark))
    return f"<{node.name}{marks}{_all(node.attributes)}{_all(node.children)}>"


def _attribute(node: syntax.Attribute) -> str:
    sign = {"plain": "", "event": "@", "bind": "bind:", "spread": "..."}[node.kind]
    value = "true" if node.value is True else written(node.value)
    return f"{sign}{node.name}={value}"


def _let(node: syntax.Let) -> str:
    type = f": {written(node.type)}" if node.type else ""
    return f"({'private ' if node.private else ''}let {written(node.pattern)}{type} {written(node.value)})"


def _use(node: syntax.Use) -> str:
    names = f" names {','.join(name for name, _ in node.names)}" if node.names else ""
    return f"(use {node.path}{f' as {node.alias}' if node.alias else ''}{names})"


def _for(node: syntax.For | syntax.ForExpression) -> str:
    index = f"{written(node.index)}, " if node.index else ""
    condition = f" if {written(node.condition)}" if isinstance(node, syntax.ForExpression) and node.condition else ""
    word = "for" if isinstance(node, syntax.For) else "for-list"
    return f"({word} {index}{written(node.item)} in {written(node.iterable)}{condition} {written(node.body)})"


_WRITERS: dict[type, Any] = {
    syntax.NamedType: lambda n: (
        (f"{n.qualifier}." if n.qualifier else "") + n.name + (f"<{written(n.arguments[0])}>" if n.arguments else "")
    ),
    syntax.LiteralType: lambda n: json.dumps(n.value),
    syntax.TypeField: lambda n: f"{n.name}{'?' if n.optional else ''}: {written(n.type)}",
    syntax.RecordType: lambda n: "{" + ", ".join(written(field) for field in n.fields) + "}",
    syntax.OptionalType: lambda n: f"(opt {written(n.inner)})",
    syntax.UnionType: lambda n: "(" + " | ".join(written(member) for member in n.members) + ")",
    syntax.FunctionType: lambda n: f"(fn{_all(n.parameters)}{f' -> {written(n.result)}' if n.result else ''})",
    syntax.NamePattern: lambda n: n.name,
    syntax.Wildcard: lambda n: "_",
    syntax.LiteralPattern: lambda n: json.dumps(n.value),
    syntax.OrPattern: lambda n: "(or" + _all(n.alternatives) + ")",
    syntax.FieldPattern: lambda n: f"{n.name}: {written(n.pattern)}",
    syntax.RecordPattern: lambda n: "{" + ", ".join(written(field) for field in n.fields) + "}",
    syntax.ListPattern: lambda n: (
        "[" + ", ".join(map(written, n.items)) + (f" ...{written(n.rest)}" if n.rest else "") + "]"
    ),
    syntax.ErrPattern: lambda n: f"(err {written(n.inner)})",
    syntax.Literal: lambda n: json.dumps(n.value, ensure_ascii=False),
    syntax.Template: lambda n: "(template" + _all(n.parts) + ")",
    syntax.SqlTemplate: lambda n: "(sql" + _all(n.parts) + ")",
    syntax.Name: lambda n: n.name,
    syntax.Spread: lambda n: f"(... {written(n.value)})",
    syntax.ListLiteral: lambda n: "(list" + _all(n.items) + ")",
    syntax.RecordField: lambda n: f"{n.name}: {written(n.value)}",
    syntax.RecordLiteral: lambda n: "{" + ", ".join(written(field) for field in n.fields) + "}",
    syntax.Unary: lambda n: f"({n.operator} {written(n.operand)})",
    syntax.Binary: lambda n: f"({n.operator} {written(n.left)} {written(n.right)})",
    syntax.Argument: lambda n: (f"{n.name}: " if n.name else "") + written(n.value),
    syntax.Call: lambda n: f"({'pipe' if n.piped else 'call'} {written(n.callee)}{_all(n.arguments)})",
    syntax.Field: lambda n: f"({'?.' if n.optional else '.'} {written(n.value)} {n.name})",
    syntax.Index: lambda n: f"(index {written(n.value)} {written(n.index)})",
    syntax.Slice: lambda n: f"(slice {written(n.value)} {written(n.low)} {written(n.high)})",
    syntax.Propagate: lambda n: f"(? {written(n.value)})",
    syntax.Block: lambda n: "(block" + _all(n.statements) + ")",
    syntax.If: lambda n: (
        f"(if {written(n.condition)} {written(n.then)}{f' {written(n.otherwise)}' if n.otherwise else ''})"
    ),
    syntax.Arm: lambda n: f"[{written(n.pattern)}{f' if {written(n.guard)}' if n.guard else ''} => {written(n.body)}]",
    syntax.Match: lambda n: f"(match {written(n.subject)}{_all(n.arms)})",
    syntax.ForExpression: _for,
    syntax.Parameter: _parameter,
    syntax.Function: _function,
    syntax.Attribute: _attribute,
    syntax.MarkupText: lambda n: json.dumps(n.text, ensure_ascii=False),
    syntax.Element: _element,
    syntax.Invalid: lambda n: "INVALID",
    syntax.ExpressionStatement: lambda n: written(n.expression),
    syntax.Let: _let,
    syntax.Assign: lambda n: f"({n.operator}= {written(n.target)} {written(n.value)})",
    syntax.While: lambda n: f"(while {written(n.condition)} {written(n.body)})",
    syntax.For: _for,
    syntax.Break: lambda n: "(break)",
    syntax.Continue: lambda n: "(continue)",
    syntax.Return: lambda n: f"(return{f' {written(n.value)}' if n.value else ''})",
    syntax.Reply: lambda n: f"(reply {written(n.status)}{f' {written(n.body)}' if n.body else ''})",
    syntax.State: lambda n: f"(state {n.name}{f': {written(n.type)}' if n.type else ''} {written(n.value)})",
    syntax.Assert: lambda n: f"(assert {written(n.value)})",
    syntax.Use: _use,
    syntax.TypeDeclaration: lambda n: f"({'private ' if n.private else ''}type {n.name} {written(n.type)})",
    syntax.Route: lambda n: (
        f"(route {n.method} {' '.join(f'{p.kind}:{p.value}:{p.type}' for p in n.parts)} {written(n.function)})"
    ),
    syntax.Build: lambda n: f"(build {n.path} {written(n.value)})",
    syntax.Component: lambda n: f"(component {written(n.function)})",
    syntax.Service: lambda n: f"(service{' mcp' if n.mcp else ''} {n.path} {n.target})",
    syntax.Test: lambda n: f"(test {json.dumps(n.name)} {written(n.function)})",
}
