"""The `quillo` command. `quillo mcp` goes its own way, for its start is waited for: the command-line library is not
loaded, and standard input and output are moved before anything that might touch them is imported.
"""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> None:
    """Runs the command with these arguments (None: the process's own) and ends the process with its status."""
    given = sys.argv[1:] if arguments is None else arguments
    engine = os.environ.get("QUILLO_ENGINE", "")
    if engine not in ("", "translator", "interpreter"):
        sys.stderr.write(f"error: QUILLO_ENGINE must be `translator` or `interpreter`, got {engine!a}\n")
        sys.exit(2)
    if given[:1] == ["mcp"]:
        from cli.mcp import options_of

        options = options_of(given[1:])
        if options is not None:  # else: a call for help, or one that is wrong, which the library words
            sys.exit(_mcp(*options))
    from cli.commands import run_command

    run_command(arguments)


def _mcp(path: str, policy: str | None, max_tool_calls: int | None, record: str | None, no_cache: bool) -> int:
    import gc

    gc.disable()  # what is imported and compiled at the start stays
    from server.descriptors import take_over_descriptors

    input, output = take_over_descriptors()
    from cli.mcp import serve, write_error

    try:
        return serve(path, policy, max_tool_calls, record, no_cache, input, output)
    except KeyboardInterrupt:
        return 0
    except Exception as problem:
        from server.protocol import fault

        write_error(fault(problem))
        return 1


if __name__ == "__main__":
    main()
