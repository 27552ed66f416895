"""From a path to a running program: reads files, compiles or loads, runs the top level.

    module, diagnostics = compile_file("main.qwe")          raises SourceError
    running = RunningProgram(module, world)
    running.run_top_level()                                 raises Stop

A main file is a program's text, or a compiled program (`quillo build`), known by its first bytes.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from compiler.source import Loader, Source, SourceError
from qasm.module import BadModule, Module
from qvm.program import Failed, Program, Returned
from qvm.values import Stop
from server.host import ProgramHost, World
from server.policy import MAX_COMPUTE
from server.render import main_file, render

if TYPE_CHECKING:
    from compiler.compile import Analysed
    from compiler.diagnostics import Diagnostic
    from server.compiled_cache import CompiledCache
    from server.recorder import Recorder

MOST_BYTES = 10 * 1024 * 1024  # of a source file
MOST_MODULE_BYTES = 100 * 1024 * 1024


def shown(path: str) -> str:
    """A path as text that can be printed and stored, whatever bytes it has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def folder_of(path: str) -> str:
    return os.path.dirname(path) or "."


def compile_file(path: str, analysed: Analysed | None = None) -> tuple[Module | None, list[Diagnostic]]:
    """Compiles a main file, with the files that it uses: the Module (None with errors) and what was found.

    A compiled program is loaded and verified instead. Raises SourceError, one line, for a file that can't be had.
    `analysed` is given what the compiler knows of a program's text without errors.
    """
    name = shown(path)
    data = _read(path, f"{name}: error:", compiled=True)
    if _is_module(data) or path.endswith(".qvm"):  # a damaged one is no program's text
        return _load(name, data), []
    source = _decode(name, data, f"{name}:", "error: ")
    return _compile(source, path, name, analysed)


def compile_once(path: str, cache: CompiledCache) -> tuple[Module | None, list[tuple[str, str]]]:
    """As `compile_file`, but takes what the cache has; what was found is given as pairs (severity, line)."""
    name = shown(path)
    data = _read(path, f"{name}: error:", compiled=True)
    if _is_module(data) or path.endswith(".qvm"):
        return _load(name, data), []
    folder = folder_of(path)
    known = cache.find(name, data, lambda used: _read_used(folder, used))
    if known is not None:
        from qasm import module_file

        with contextlib.suppress(BadModule):
            return module_file.load(known.module_file), [("warning", line) for line in known.warnings]
    used: dict[str, bytes] = {}
    module, found = _compile(_decode(name, data, f"{name}:", "error: "), path, name, None, used)
    if module is not None:
        from qasm import module_file
        from server.compiled_cache import Compiled

        with contextlib.suppress(BadModule):
            cache.keep(name, data, used, Compiled(module_file.dump(module), [str(one) for one in found]))
    return module, [(one.severity, str(one)) for one in found]


def compile_watched(path: str) -> tuple[Module | None, list[Diagnostic], dict[str, bytes]]:
    """As `compile_file`, and the bytes of the files that it uses, by their paths from the main file's folder; b"" for
    one that is not there.
    """
    name = shown(path)
    data = _read(path, f"{name}: error:", compiled=True)
    if _is_module(data) or path.endswith(".qvm"):
        return _load(name, data), [], {}
    used: dict[str, bytes] = {}
    module, found = _compile(_decode(name, data, f"{name}:", "error: "), path, name, None, used)
    return module, found, used


def _compile(
    source: Source, path: str, name: str, analysed: Analysed | None, used: dict[str, bytes] | None = None
) -> tuple[Module | None, list[Diagnostic]]:
    from compiler.compile import compile_program
    from compiler.diagnostics import Diagnostics

    stem = os.path.splitext(os.path.basename(name))[0]
    diagnostics = Diagnostics()
    module = compile_program(source, loader(folder_of(path), used), stem, diagnostics, analysed)
    if module is not None:
        # The same source gives the same Module, from whichever folder it was named.
        for file in module.files:
            if file.name == name:
                file.name = os.path.basename(name)
    return module, diagnostics.in_order()


def loader(folder: str, used: dict[str, bytes] | None = None) -> Loader:
    """What gives the compiler the used files of a program whose main file lies in `folder`; `used` gets their bytes."""

    def load(path: str) -> Source:
        if used is not None:
            used[path] = b""  # it is one of the program's files, also where it can't be had
        data = _read_used(folder, path)
        if used is not None:
            used[path] = data
        return _decode(path, data, "", "")

    return load


def _read_used(folder: str, path: str) -> bytes:
    return _read(os.path.join(folder, *path.split("/")), "")


def _load(name: str, data: bytes) -> Module:
    from qasm import module_file
    from qasm.verifier import verify

    try:
        module = module_file.load(data)
        verify(module)
    except BadModule as problem:
        raise SourceError(f"{name}: error: {problem}") from None
    return module


def _is_module(data: bytes) -> bool:
    from qasm.module_file import MAGIC

    return data.startswith(MAGIC)


def _read(path: str, lead: str, compiled: bool = False) -> bytes:
    """A file's bytes. Raises SourceError: `lead`, and a reason such as "is not there"."""
    lead = f"{lead} the file " if lead else ""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES and compiled and _is_module(data):
                data += file.read(MOST_MODULE_BYTES)
            elif len(data) > MOST_BYTES:
                raise SourceError(f"{lead}is over {MOST_BYTES // 1024 // 1024} MB")
    except FileNotFoundError:
        raise SourceError(f"{lead}is not there") from None
    except IsADirectoryError:
        raise SourceError(f"{lead}is a folder" + (": name a file in it, such as main.qwe" if lead else "")) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its path is none"
        raise SourceError(f"{lead}can't be read: {reason.lower()}") from None
    if not data:
        raise SourceError(f"{lead}is empty")
    return data


def _decode(name: str, data: bytes, lead: str, severity: str) -> Source:
    from compiler.source import decode

    try:
        return decode(name, data)
    except SourceError as error:
        if lead:
            raise
        raise SourceError(f"is not UTF-8: {str(error).removeprefix(name + ':').partition(':')[0]}") from None


class RunningProgram:
    """A program whose top level has run. Calls that are `recorded` run on the interpreter, whose frames can be saved.

    The environment's QUILLO_ENGINE may say `interpreter`; it has been looked at.
    """

    def __init__(
        self, module: Module, world: World, recorded: bool = False, cache: CompiledCache | None = None
    ) -> None:
        self.module = module
        self.world = world
        engine = "interpreter" if recorded else os.environ.get("QUILLO_ENGINE") or "translator"
        self.program = Program(module, engine)
        if cache is not None:
            self.program.store = cache.translated(self.digest)
        self.main_file = main_file(module)
        self.max_compute = world.policy.max_compute or MAX_COMPUTE

    def run_top_level(
        self, recorder: Recorder | None = None, max_steps: int | None = None, alone: bool = False
    ) -> None:
        """Runs the files' top levels in their order, each of `max_steps` at most. Raises Stop.

        `alone`: they are all that the program does.
        """
        if alone:
            self.program.warm_up(self.module.entries)
        host = ProgramHost(self.world, self.world.database.scope())
        watched = host if recorder is None else recorder.top_level(host)
        try:
            for entry in self.module.entries:
                run(self.program.call(entry, [], watched, max_steps))
        finally:
            host.scope.finish()
        if recorder is not None:
            recorder.ready()

    def digest(self) -> str:
        """The name of the Module: BLAKE3 of its bytes, as hex."""
        from qasm.module_file import digest

        return digest(self.module)

    def log(self, stop: Stop) -> None:
        """A stop on standard error, with file, line and calls."""
        self.world.log(render(stop, self.main_file))

    def close(self) -> None:
        self.world.database.close()


def run(task: Any) -> Any:
    """Runs a task whose host never lets it wait, to its value. Raises Stop."""
    while True:
        outcome = task.run()
        if type(outcome) is Returned:
            return outcome.value
        if type(outcome) is Failed:
            raise outcome.stop
