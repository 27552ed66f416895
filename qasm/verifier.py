"""Proves all that the engines assume of a Module, so that they need no checks of their own.

    verify(module)                       the whole Module
    control_flow(module, number)         one function, with what an engine needs to know of each instruction

A Module that this build's compiler made needs no `verify`; `control_flow` verifies the code of the functions that run.
What is proved of code is written in qasm/flow.py. Of the rest: every number names something that is there, functions
that are started from outside capture nothing, and type descriptors are well made and can be checked in finite time.
"""

from __future__ import annotations

from collections.abc import Iterator

from qasm.descriptors import circle, problem
from qasm.flow import ControlFlow, control_flow, place_of, quoted
from qasm.module import BadModule, Descriptor, Function, Module

__all__ = ["ControlFlow", "control_flow", "verify"]

DOORS = ("stdio", "http")  # the keys of Module.instructions


def verify(module: Module) -> None:
    """Raises BadModule, with one sentence that says where and what, unless the engines can run this Module."""
    for place, descriptor in _descriptors(module):
        if found := problem(descriptor, len(module.types)):
            raise BadModule(f"{place}: {found}")
    if (number := circle(module.types)) >= 0:
        raise BadModule(f"type {number} {quoted(module.types[number][0])} is itself")
    for number, function in enumerate(module.functions):
        _verify_function(module, number, function)
    _verify_starts(module)
    for door in module.instructions:
        if door not in DOORS:
            raise BadModule(f"the instructions are for {door!r}, which is neither stdio nor http")


def _descriptors(module: Module) -> Iterator[tuple[str, Descriptor]]:
    """All type descriptors but those of constants, which only an instruction makes one, each with its place."""
    for number, (name, descriptor) in enumerate(module.types):
        yield f"type {number} {quoted(name)}", descriptor
    for number, function in enumerate(module.functions):
        place = place_of(module, number)
        for parameter in function.parameters:
            yield f"{place}, parameter {quoted(parameter.name)}", parameter.type
        if function.result is not None:
            yield f"{place}, result", function.result
    for tool in module.tools:
        if tool.result is not None:
            yield f"tool {quoted(tool.name)}, result", tool.result


def _verify_function(module: Module, number: int, function: Function) -> None:
    place = place_of(module, number)
    if not 0 <= function.file < len(module.files):
        raise BadModule(f"{place}: there is no file {function.file}, only {len(module.files)}")
    if function.local_count < len(function.parameters):
        raise BadModule(f"{place}: {len(function.parameters)} parameters and {function.local_count} locals")
    if len(function.local_names) != function.local_count:
        raise BadModule(f"{place}: {len(function.local_names)} names for {function.local_count} locals")
    for parameter in function.parameters:
        if parameter.has_default and parameter.required:
            raise BadModule(f"{place}: parameter {quoted(parameter.name)} has a default and must be given")
        if not parameter.has_default and parameter.default is not None:
            raise BadModule(f"{place}: parameter {quoted(parameter.name)} holds a default that it doesn't have")
    for kind, variable in function.captures:
        if kind not in (0, 1) or variable < 0:
            raise BadModule(f"{place}: there is no capture of kind {kind}, number {variable}")
    flow = control_flow(module, number)
    last = -1
    for pc, line in function.lines:
        if not last < pc < len(flow.instructions):
            raise BadModule(f"{place}: its line table names pc {pc} behind {last} of {len(flow.instructions)}")
        if line < 1:
            raise BadModule(f"{place}: its line table names line {line}")
        last = pc
    if not function.lines or function.lines[0][0]:
        raise BadModule(f"{place}: its line table doesn't begin at pc 0")


def _verify_starts(module: Module) -> None:
    """The functions that are started from outside: none captures anything, top levels and tests take nothing."""
    for number in module.entries:
        _verify_start(module, "a top level", number, takes=False)
    if len(set(module.entries)) < len(module.entries):
        raise BadModule("a top level is listed twice")
    seen = set()
    for tool in module.tools:
        if tool.name in seen:
            raise BadModule(f"tool {quoted(tool.name)} is there twice")
        seen.add(tool.name)
        _verify_start(module, f"tool {quoted(tool.name)}", tool.function)
    for route in module.routes:
        place = f"{route.kind} {quoted(' '.join(filter(None, (route.method, route.path))))}"
        if route.kind not in ("route", "build", "rpc"):
            raise BadModule(f"there is no kind of route {route.kind!r}")
        if route.kind == "route" and not route.method:
            raise BadModule(f"{place}: it has no method")
        if route.kind != "rpc" and not route.path.startswith("/"):
            raise BadModule(f"{place}: its path doesn't begin with `/`")
        _verify_start(module, place, route.function)
    for test in module.tests:
        _verify_start(module, f"test {quoted(test.name)}", test.function, takes=False)


def _verify_start(module: Module, place: str, number: int, takes: bool = True) -> None:
    if not 0 <= number < len(module.functions):
        raise BadModule(f"{place}: there is no function {number}, only {len(module.functions)}")
    function = module.functions[number]
    if function.captures:
        raise BadModule(f"{place}: function {number} captures variables")
    if function.parameters and not takes:
        raise BadModule(f"{place}: function {number} takes {len(function.parameters)} parameters")
