"""`qvm disasm FILE`: a program's instructions, for reading, as data, or as text that can be assembled again."""

from __future__ import annotations

import click

from cli.modules import open_module, refused
from qasm.module import Module


@click.command("disasm")
@click.argument("file")
@click.option("--function", "name", metavar="NAME", help="Shows functions of this name, or the one of this number.")
@click.option("--json", "as_json", is_flag=True, help="Shows it as data.")
@click.option("--text", "as_text", is_flag=True, help="Writes the text that `qvm assemble` takes.")
def command(file: str, name: str | None, as_json: bool, as_text: bool) -> None:
    """Shows a program's instructions beside its lines.

    FILE is a program (.qwe), which is compiled, or a module (.qvm).
    """
    if as_text and (as_json or name is not None):
        raise click.UsageError("--text writes the whole module: it goes with no other flag")
    module = open_module(file)
    if as_text:
        from qasm.disassembler import disassemble

        click.echo(disassemble(module), nl=False)
        return
    from qasm.listing import as_data, listing

    functions = None if name is None else _named(file, module, name)
    if as_json:
        import json

        click.echo(json.dumps(as_data(module, functions), indent=2, ensure_ascii=False))
    else:
        click.echo(listing(module, functions), nl=False)


def _named(file: str, module: Module, name: str) -> list[int]:
    """The numbers of the functions that are meant. Raises Refusal, with the nearest name."""
    found = [number for number, function in enumerate(module.functions) if name and function.name == name]
    if not found and name.isdecimal() and name.isascii() and len(name) < 10 and int(name) < len(module.functions):
        found = [int(name)]
    if found:
        return found
    from compiler.spelling import list_of, nearest

    names = sorted({function.name for function in module.functions if function.name})
    near = nearest(name, names)
    if near is not None:
        raise refused(file, f"there is no function `{name}`: did you mean `{near}`?")
    if not names:
        raise refused(file, f"there is no function `{name}`: none of its functions has a name, give a number")
    raise refused(file, f"there is no function `{name}`: its functions are {list_of(names)}")
