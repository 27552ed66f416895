"""The table of builtins: all of section 13 of the language is there, and each builtin lives where the table says."""

from __future__ import annotations

import pytest

from compiler.builtins import Builtin
from compiler.prelude import BUILTINS
from compiler.prelude_functions import prelude_function
from compiler.types import written
from compiler.written_types import signature_type
from qvm.builtins import GROUP_OF, argument_counts, is_native, native
from server.host import HANDLERS
from tools import make_prelude
from tools.prelude_reader import PreludeError, read_doc

SECTION_13 = """
len upper lower trim trim_start trim_end split join replace contains starts_with ends_with index_of slice repeat
pad_start pad_end lines chars slug escape_html format_number match_text match_all replace_text
push insert remove map filter reduce find any all sort reverse unique flat zip group_by sum min max first last range
keys values entries from_entries has merge without
abs floor ceil round sqrt pow random random_int
int float str json from_json type_of err is_err bytes base64 from_base64 hex
now now_ms parse_time format_time add_time sleep
uuid hash hash_password check_password same
print log env args read_line stdin exit read_file write_file append_file delete_file files fetch
parallel
raw redirect respond classes markdown_page ask
confirm about answering mcp_token mcp_tokens revoke_mcp_token
db.open db.query db.one db.exec db.transaction db.error_kind
session set_session end_session tenant_from tenant locale_from locale
"""

FAILS = """
int float from_json from_base64 parse_time read_file write_file append_file delete_file files fetch
db.open db.query db.one db.exec db.transaction err db.begin db.commit db.rollback _attempt answering
"""

EFFECTS = {
    "db": "db.open db.query db.one db.exec db.transaction db.begin db.commit db.rollback",
    "fs": "read_file write_file append_file delete_file files",
    "http": "fetch",
}

CHANGES = "write_file append_file delete_file fetch db.exec set_session end_session mcp_token revoke_mcp_token"


def of_kind(kind: str) -> list[Builtin]:
    return [builtin for builtin in BUILTINS.values() if builtin.kind == kind]


def test_the_builtins_of_section_13_are_those_that_programs_find() -> None:
    assert sorted(SECTION_13.split()) == sorted(name for name, builtin in BUILTINS.items() if not builtin.hidden)


def test_each_builtin_stands_under_its_own_name_and_says_what_it_does() -> None:
    for name, builtin in BUILTINS.items():
        assert builtin.name == name
        assert builtin.doc.rstrip("`)")[-1] in ".?", name
        assert builtin.kind in ("native", "host", "inline", "quillo")
        assert (builtin.source != "") == (builtin.kind == "quillo")


def test_the_checker_reads_every_type_of_the_table_as_it_is_written() -> None:
    for builtin in BUILTINS.values():
        for overload in builtin.overloads:
            for text in [*(parameter.type for parameter in overload.parameters), overload.result]:
                assert written(signature_type(text)) == text


def test_the_natives_are_those_of_the_engine() -> None:
    assert sorted(builtin.name for builtin in of_kind("native")) == sorted(GROUP_OF)
    assert all(callable(native(name)) for name in GROUP_OF)
    assert not is_native("print")


@pytest.mark.parametrize("builtin", of_kind("native"), ids=lambda builtin: builtin.name)
def test_a_native_takes_what_its_head_says(builtin: Builtin) -> None:
    function = native(builtin.name)
    least, most = argument_counts(builtin.name)
    names = [name.rstrip("_") for name in function.__code__.co_varnames[: function.__code__.co_argcount]]
    defaults = dict(zip(names[least:], function.__defaults__ or (), strict=True))
    first = builtin.overloads[0]
    if first.variadic:
        assert most is None
        return
    assert [parameter.name for parameter in first.parameters] == names[: len(first.parameters)]
    for overload in builtin.overloads:
        required = [parameter for parameter in overload.parameters if not parameter.has_default]
        assert least <= len(required) <= len(overload.parameters) <= len(names)
        assert most == len(names)
        for place, parameter in enumerate(overload.parameters):
            if parameter.has_default:
                assert defaults[names[place]] == parameter.default
    assert max(len(overload.parameters) for overload in builtin.overloads) == len(names)


def test_every_host_call_has_a_handler_and_every_handler_a_builtin() -> None:
    asked = {"confirm", "about", "_together"}  # the engine makes questions, or calls, of these
    assert {builtin.name for builtin in of_kind("host")} - asked == set(HANDLERS)


def test_what_can_fail_what_it_touches_and_what_it_changes() -> None:
    assert sorted(FAILS.split()) == sorted(n for n, b in BUILTINS.items() if any(o.fails for o in b.overloads))
    for effect in ("db", "fs", "http", "net"):
        touching = [name for name, builtin in BUILTINS.items() if builtin.effect == effect]
        assert sorted(touching) == sorted(EFFECTS.get(effect, "").split())
    assert {name: f"`{name}`" for name in CHANGES.split()} == {n: b.change for n, b in BUILTINS.items() if b.change}


def test_what_is_hidden_are_the_languages_own_helpers() -> None:
    hidden = {name for name, builtin in BUILTINS.items() if builtin.hidden}
    assert hidden == {
        *("_verdict", "_sort_by", "_unique_by", "_group_by", "_itself", "_keys", "_attempt"),
        *("_begin_answering", "_end_answering", "_together"),
        *("db.begin", "db.commit", "db.rollback", "request"),
    }


@pytest.mark.parametrize("builtin", of_kind("quillo"), ids=lambda builtin: builtin.name)
def test_a_builtin_that_is_written_in_quillo_checks(builtin: Builtin) -> None:
    function, source = prelude_function(builtin)
    assert function.name == builtin.name.replace(".", "_")
    assert [each.name for each in function.parameters] == [each.name for each in builtin.overloads[0].parameters]
    assert source.text == builtin.source


def test_the_table_is_what_the_prelude_makes(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_prelude.main(["--check"]) == 0
    assert make_prelude.main(["--chekc"]) == 2
    assert capsys.readouterr().err == "make_prelude takes nothing or --check\n"


def test_a_doc_is_taken_apart() -> None:
    doc = read_doc(
        "One\nline.\n\nTwo.\n@example\nprint(1)\n@output\n1\n@sketch\nx\n@edge a\nb\n@error c\n@see d, e", ""
    )
    assert doc.paragraphs == ["One line.", "Two."]
    assert [(example.code, example.output) for example in doc.examples] == [("print(1)", "1"), ("x", None)]
    assert (doc.edges, doc.errors, doc.see) == (["a b"], ["c"], ["d", "e"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A.\n@exmaple\nx", "here: there is no tag `@exmaple`"),
        ("A.\n@example\nprint(1)", "here: an `@example` needs its `@output`"),
        ("A.\n@output\n1", "here: `@output` belongs under an `@example`"),
    ],
)
def test_a_doc_that_breaks_the_format_is_refused(text: str, message: str) -> None:
    with pytest.raises(PreludeError) as refusal:
        read_doc(text, "here")
    assert str(refusal.value) == message
