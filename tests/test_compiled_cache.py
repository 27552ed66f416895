"""Compiled programs are kept, and what is kept is believed only where it is whole, the user's own, and still true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qasm import module_file
from server.compiled_cache import MOST_ENTRIES, Compiled, CompiledCache, cache_folder
from server.host import World
from server.programs import RunningProgram, compile_file, compile_once
from tests.mcp.spawned import QUILLO, ROOT, environment, line

MAIN = (
    'use "parts/names.qwe" as names\nfn quiet() { let unused = 1 }\n/// Says it.\nfn mcp say() -> str = names.word()\n'
)
PART = 'fn word() -> str = "WORD"\n'


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program" / "parts").mkdir(parents=True)
    (tmp_path / "program" / "parts" / "names.qwe").write_text(PART)
    main = tmp_path / "program" / "main.qwe"
    main.write_text(MAIN)
    return main


@pytest.fixture
def cache(tmp_path):
    return CompiledCache(str(tmp_path / "cache"))


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").iterdir())


def never(*_: object) -> None:
    raise AssertionError("compiled again")


def test_a_program_that_did_not_change_is_not_compiled_again(program, cache, monkeypatch):
    first, found = compile_once(str(program), cache)
    monkeypatch.setattr("compiler.compile.compile_program", never)
    again, found_again = compile_once(str(program), cache)
    assert module_file.dump(again) == module_file.dump(first)
    assert found_again == found


def test_it_is_the_module_that_the_compiler_gives_with_its_warnings(program, cache):
    module, found = compile_file(str(program))
    for _ in range(2):
        kept, lines = compile_once(str(program), cache)
        assert module_file.dump(kept) == module_file.dump(module)
        assert lines == [(one.severity, str(one)) for one in found]


@pytest.mark.parametrize("changed", ["main.qwe", "parts/names.qwe"])
def test_a_change_of_any_file_is_seen(program, cache, changed):
    compile_once(str(program), cache)
    path = program.parent / changed
    path.write_text(path.read_text().replace("word", "verb"))
    other = program.parent / ("parts/names.qwe" if changed == "main.qwe" else "main.qwe")
    other_text = other.read_text()
    module, found = compile_once(str(program), cache)
    assert module is None  # `word` and `verb` no longer fit together
    assert any(severity == "error" for severity, _ in found)
    other.write_text(other_text.replace("word", "verb"))
    module, _ = compile_once(str(program), cache)
    assert module is not None
    assert any("verb" in file.text for file in module.files)


def test_a_used_file_that_is_gone_is_an_error(program, cache):
    compile_once(str(program), cache)
    (program.parent / "parts" / "names.qwe").unlink()
    module, found = compile_once(str(program), cache)
    assert module is None
    assert "names.qwe" in found[0][1]


def test_another_build_of_the_compiler_compiles_again(program, cache, monkeypatch, tmp_path):
    compile_once(str(program), cache)
    monkeypatch.setattr("server.compiled_cache.build", lambda packages: "another")
    compile_once(str(program), cache)
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("place", [0, 3, 5, 10, 45, 50, 100, -1])
def test_a_damaged_entry_is_passed_over(program, cache, tmp_path, place):
    module, _ = compile_once(str(program), cache)
    [entry] = entries(tmp_path)
    data = bytearray(entry.read_bytes())
    data[place] ^= 0x40
    entry.write_bytes(bytes(data))
    again, _ = compile_once(str(program), cache)
    assert module_file.dump(again) == module_file.dump(module)


@pytest.mark.parametrize("length", [0, 1, 45, 46, 47, 500])
def test_a_cut_entry_is_passed_over(program, cache, tmp_path, length):
    module, _ = compile_once(str(program), cache)
    [entry] = entries(tmp_path)
    entry.write_bytes(entry.read_bytes()[:length])
    again, _ = compile_once(str(program), cache)
    assert module_file.dump(again) == module_file.dump(module)


@pytest.mark.parametrize("payload", [b"", b"\xc0", b"\x93\x90\x90\xc4\x00", b"\x93\x90\x90\xc4\x01x", b"\x91\x01"])
def test_an_entry_that_makes_no_sense_is_passed_over(program, cache, tmp_path, payload):
    from qasm.framing import frame
    from server.compiled_cache import FORMAT, MAGIC

    module, _ = compile_once(str(program), cache)
    [entry] = entries(tmp_path)
    entry.write_bytes(frame(MAGIC, FORMAT, payload))
    again, _ = compile_once(str(program), cache)
    assert module_file.dump(again) == module_file.dump(module)


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_may_write_is_neither_read_nor_written(program, cache, tmp_path, monkeypatch, mode):
    compile_once(str(program), cache)
    [entry] = entries(tmp_path)
    before = entry.stat().st_mtime_ns
    (tmp_path / "cache").chmod(mode)
    called = []
    monkeypatch.setattr(CompiledCache, "_read", lambda self, path: called.append(path))
    module, _ = compile_once(str(program), cache)
    assert module is not None
    assert not called
    assert entry.stat().st_mtime_ns == before


def test_an_entry_that_others_may_write_or_that_is_a_link_is_passed_over(program, cache, tmp_path):
    module, _ = compile_once(str(program), cache)
    [entry] = entries(tmp_path)
    true_entry = entry.read_bytes()
    (tmp_path / "elsewhere").write_bytes(true_entry)
    for spoil in (lambda: entry.chmod(0o666), lambda: (entry.unlink(), entry.symlink_to(tmp_path / "elsewhere"))):
        spoil()
        with pytest.raises(OSError, match=r".*"):
            cache._read(str(entry))
        again, _ = compile_once(str(program), cache)
        assert module_file.dump(again) == module_file.dump(module)


@pytest.mark.parametrize("folder", ["", "/dev/null/quillo", "/proc/quillo"])
def test_where_nothing_can_be_kept_a_program_compiles_as_ever(program, folder):
    module, _ = compile_once(str(program), CompiledCache(folder))
    assert module is not None


def test_a_program_with_errors_is_not_kept(program, cache, tmp_path):
    program.write_text("let a =\n")
    module, found = compile_once(str(program), cache)
    assert module is None
    assert found[0][0] == "error"
    assert not (tmp_path / "cache").exists()


def test_the_oldest_entries_go(tmp_path, cache):
    for number in range(MOST_ENTRIES + 5):
        cache.keep("main.qwe", str(number).encode(), {}, Compiled(b"", []))
        newest = max((tmp_path / "cache").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    assert len(entries(tmp_path)) == MOST_ENTRIES
    assert cache.find("main.qwe", b"0", never) is None
    assert cache.find("main.qwe", str(MOST_ENTRIES + 4).encode(), never) is not None


@pytest.mark.parametrize(
    ("environment", "platform", "folder"),
    [
        ({"HOME": "/home/ana"}, "linux", "/home/ana/.cache/quillo"),
        ({"HOME": "/Users/ana"}, "darwin", "/Users/ana/Library/Caches/quillo"),
        ({"HOME": "/home/ana", "XDG_CACHE_HOME": "/fast"}, "linux", "/fast/quillo"),
        ({"HOME": "/home/ana", "XDG_CACHE_HOME": "relative"}, "linux", "/home/ana/.cache/quillo"),
        ({}, "linux", ""),
        ({"HOME": "here"}, "linux", ""),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_such_things(environment, platform, folder):
    assert cache_folder(environment, platform) == folder


def test_processes_that_start_at_once_all_serve(program, tmp_path):
    env = environment(XDG_CACHE_HOME=str(tmp_path))
    command = [*QUILLO, "ask", str(program), "say"]
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) for _ in range(6)
    ]
    for process in started:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert b"WORD" in output
    assert len(list((tmp_path / "quillo").iterdir())) == 1


@pytest.mark.parametrize("flag", [[], ["--no-cache"]])
def test_the_cache_spares_the_import_of_the_compiler_and_the_flag_forgoes_it(program, tmp_path, flag):
    compile_once(str(program), CompiledCache(str(tmp_path / "quillo")))
    script = (
        "import sys, cli.quillo\n"
        "try: cli.quillo.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('compiler.parser' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "mcp", str(program), *flag],
        env=environment(XDG_CACHE_HOME=str(tmp_path)),
        input=line({"jsonrpc": "2.0", "method": "notifications/x"}),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.decode().splitlines()[-1] == str(bool(flag)), done.stderr


LOOPS = (
    "fn sum_to(n: int) -> int {\n  let sum = 0\n  for i in range(0, n) { sum += i }\n  sum\n}\nprint(sum_to(50000))\n"
)


def translated_run(program: Path, cache: CompiledCache) -> str:
    module, _ = compile_file(str(program))
    printed: list[str] = []
    running = RunningProgram(module, World(str(program.parent), printed.append, printed.append), cache=cache)
    running.run_top_level(alone=True)
    running.close()
    return "".join(printed)


def test_the_code_of_a_program_that_loops_is_translated_once(program, cache, tmp_path, monkeypatch):
    program.write_text(LOOPS)
    assert translated_run(program, cache) == "1249975000\n"
    assert [entry.suffix for entry in entries(tmp_path)] == [".translated"]
    monkeypatch.setattr("qvm.translator.translate", never)
    assert translated_run(program, cache) == "1249975000\n"


def test_code_that_is_spoilt_or_of_another_build_is_translated_anew(program, cache, tmp_path, monkeypatch):
    program.write_text(LOOPS)
    translated_run(program, cache)
    [entry] = entries(tmp_path)
    whole = entry.read_bytes()
    for place in range(0, len(whole), 97):
        entry.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert translated_run(program, cache) == "1249975000\n"
        entry.write_bytes(whole[:place])
        assert translated_run(program, cache) == "1249975000\n"
    assert entry.read_bytes() == whole
    entry.chmod(0o666)
    assert translated_run(program, cache) == "1249975000\n"
    monkeypatch.setattr("server.compiled_cache.build", lambda packages: "another")
    assert translated_run(program, cache) == "1249975000\n"
    assert len(entries(tmp_path)) == 2
