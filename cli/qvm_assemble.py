"""`qvm assemble FILE.qasm -o FILE.qvm`: a module file of a text that `qvm disasm --text` writes."""

from __future__ import annotations

import click

from cli.modules import read_file, reason, refused, summary


@click.command("assemble")
@click.argument("file")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the module (.qvm) goes.")
def command(file: str, output: str) -> None:
    """Makes a module of its text form.

    FILE is what `qvm disasm --text` writes. The module is verified before it is written.
    """
    from qasm.assembler import assemble
    from qasm.module import BadModule
    from qasm.module_file import dump
    from qasm.verifier import verify

    data = read_file(file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused(file, f"line {line}: byte 0x{data[error.start]:02x} is not UTF-8: save it as UTF-8") from None
    try:
        module = assemble(text.removeprefix("\ufeff"))
        verify(module)
        made = dump(module)
    except BadModule as error:
        raise refused(file, error) from None
    try:
        with open(output, "wb") as written:
            written.write(made)
    except (OSError, ValueError) as error:
        raise refused(output, reason(error)) from None
    click.echo(f"{output}: {summary(module, len(made))}")
