"""Makers for calls: of functions, function values and builtins.

A call of a Quillo function pushes a Frame. A builtin is a native (a Python function), a host call, or a question. The
handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from typing import Any

from qvm.calling import call_value, too_deep, wrong_count
from qvm.frames import Frame
from qvm.mistakes import error_stop
from qvm.prepare import LEAVE, Handler, Site
from qvm.questions import QUESTIONS, question
from qvm.values import BuiltinFunction, Closure, Err, Stop


def make_call(site: Site) -> Handler:
    number = site.operands[0]
    function = site.module.functions[number]
    count = len(function.parameters)
    padding: list[Any] = [None] * (function.local_count - count)
    after = site.pc + 1

    def call(stack, locals, task):
        frames = task.frames
        if len(frames) > task.most_frames:
            raise too_deep()
        frames[-1].pc = after
        arguments = stack[-count:]
        del stack[-count:]
        frames.append(Frame(number, arguments + padding))
        return LEAVE

    def call_with_one(stack, locals, task):
        frames = task.frames
        if len(frames) > task.most_frames:
            raise too_deep()
        frames[-1].pc = after
        frames.append(Frame(number, [stack.pop(), *padding]))
        return LEAVE

    def call_with_none(stack, locals, task):
        frames = task.frames
        if len(frames) > task.most_frames:
            raise too_deep()
        frames[-1].pc = after
        frames.append(Frame(number, padding.copy()))
        return LEAVE

    if count == 0:
        return call_with_none
    return call_with_one if count == 1 else call


def make_call_value(site: Site) -> Handler:
    count, names = site.operands[0], site.constant(1)
    following, after, pc = site.following, site.pc + 1, site.pc

    def call_function_value(stack, locals, task):
        function = stack[-count - 1]
        arguments = stack[-count:] if count else []
        del stack[-count - 1 :]
        if type(function) is Closure:
            call_value(task, function, arguments, names)
            task.frames[-2].pc = after
            return LEAVE
        return task.call_builtin_value(function, arguments, names, pc, following)

    return call_function_value


def make_call_builtin(site: Site) -> Handler:
    name, count = site.module.builtins[site.operands[0]], site.operands[1]
    if name in QUESTIONS:
        return _make_question(site, name, count)
    native = site.program.native(name)
    if native is None:
        return _make_host_call(site, name, count)
    if problem := wrong_count(name, native, count):
        return _make_wrong_call(problem)
    if name == "db.error_kind":  # the one builtin that takes an error whole
        return _make_native_call_that_takes_errors(site, native, count)
    following = site.following

    def call_native(stack, locals, task):
        arguments = stack[-count:]
        for argument in arguments:
            if type(argument) is Err:
                raise error_stop(argument)
        del stack[-count:]
        stack.append(native(*arguments))
        return following

    def call_native_with_one(stack, locals, task):
        argument = stack[-1]
        if type(argument) is Err:
            raise error_stop(argument)
        stack[-1] = native(argument)
        return following

    def call_native_with_none(stack, locals, task):
        stack.append(native())
        return following

    if count == 0:
        return call_native_with_none
    return call_native_with_one if count == 1 else call_native


def _make_wrong_call(problem: str) -> Handler:
    """A call that the compiler would have refused, in a Module that comes from elsewhere."""

    def refuse(stack, locals, task):
        raise Stop(problem)

    return refuse


def _make_native_call_that_takes_errors(site: Site, native: Any, count: int) -> Handler:
    following = site.following

    def call_native(stack, locals, task):
        arguments = stack[-count:] if count else []
        del stack[len(stack) - count :]
        stack.append(native(*arguments))
        return following

    return call_native


def _make_host_call(site: Site, name: str, count: int) -> Handler:
    following, pc = site.following, site.pc

    def call_host(stack, locals, task):
        arguments = stack[-count:] if count else []
        del stack[len(stack) - count :]
        return task.call_host(name, arguments, pc, following)

    return call_host


def _make_question(site: Site, name: str, count: int) -> Handler:
    following, pc = site.following, site.pc

    def ask(stack, locals, task):
        arguments = stack[-count:] if count else []
        del stack[len(stack) - count :]
        return task.ask(question(task, name, arguments, pc), pc, following)

    return ask


def make_closure(site: Site) -> Handler:
    number, following = site.operands[0], site.following
    captures = site.module.functions[number].captures
    if not captures:
        function = Closure(number)

        def push_function(stack, locals, task):
            stack.append(function)
            return following

        return push_function

    def push_closure(stack, locals, task):
        own = task.frames[-1].cells
        cells = tuple(own[place] if kind else locals[place] for kind, place in captures)
        stack.append(Closure(number, cells))
        return following

    return push_closure


def make_builtin(site: Site) -> Handler:
    builtin, following = BuiltinFunction(site.module.builtins[site.operands[0]]), site.following

    def push_builtin(stack, locals, task):
        stack.append(builtin)
        return following

    return push_builtin


MAKERS = {
    "CALL": make_call,
    "CALL_VALUE": make_call_value,
    "CALL_BUILTIN": make_call_builtin,
    "CLOSURE": make_closure,
    "BUILTIN": make_builtin,
}
