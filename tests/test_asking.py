"""The signed states of questions: what is taken, once, and what is refused, with the true reason."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from qvm.values import Stop
from server.asking import (
    DECLINED,
    FORMAT,
    LIFETIME,
    NO_CHOICE,
    NONE,
    YES,
    Answers,
    Asking,
    Entry,
    Refused,
    UsedInDatabase,
    UsedInMemory,
    canonical,
    is_too_long,
)
from server.database import Database

SECRET = b"0123456789abcdef0123456789abcdef"
CHANGED = "was changed on the way, or this server did not make it"
NOT_WHOLE = "was cut, extended or rewritten on the way, or this server did not make it"
TOO_LONG = "is longer than any that a server makes, or this server did not make it"


class Kept(UsedInMemory):
    """As a database that the next process opens, too."""

    lasting = True


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def asking(secret: bytes | None = SECRET, program: str = "p", clock: Clock | None = None, used=None) -> Asking:
    return Asking(secret, lambda: program, used or Kept(), clock or Clock())


def answers(maker: Asking, *texts: str, answer: int = YES) -> Answers:
    made = Answers()
    for text in texts:
        entry = Entry(maker.digest("place", text), maker.digest("question", text), answer, 0, NO_CHOICE)
        made.entries[entry.place] = entry
        made.waiting = entry
        made.asked += 1
    return made


def state(maker: Asking, caller="stdio", tool="clear", arguments=None) -> str:
    return maker.seal(answers(maker, "Sure?"), caller, tool, {"a": 1} if arguments is None else arguments)


def refusal(maker: Asking, text: str, caller="stdio", tool="clear", arguments=None) -> str:
    with pytest.raises(Refused) as refused:
        maker.open(text, caller, tool, {"a": 1} if arguments is None else arguments)
    message = str(refused.value)
    assert message.startswith("`requestState` ")
    assert message.endswith(f": call `{tool}` again without it")
    return message.removeprefix("`requestState` ").removesuffix(f": call `{tool}` again without it")


def opens(maker: Asking, text: str) -> Answers:
    return maker.open(text, "stdio", "clear", {"a": 1})


def test_what_was_sealed_is_opened():
    maker = asking()
    sealed = answers(maker, "one", "two")
    first, second = sealed.entries.values()
    first.answer, second.changes = DECLINED, 1
    sealed.waiting = first
    found = opens(maker, maker.seal(sealed, "stdio", "clear", {"a": 1}))
    assert found.asked == 2
    assert list(found.entries) == list(sealed.entries)
    assert [e.answer for e in found.entries.values()] == [DECLINED, YES]
    assert [e.changes for e in found.entries.values()] == [0, 1]
    assert found.waiting is next(iter(found.entries.values()))


def test_a_state_is_good_after_a_restart_with_the_same_secret():
    assert opens(asking(), state(asking())).asked == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"caller": "ana"}, "was made for another caller"),
        ({"tool": "other"}, "was made for another tool"),
        ({"arguments": {"a": 2}}, "was made for other arguments"),
        ({"arguments": {}}, "was made for other arguments"),
        ({"arguments": {"a": True}}, "was made for other arguments"),
    ],
)
def test_a_state_is_bound_to_its_call(change, problem):
    maker = asking()
    text = state(maker)
    assert refusal(maker, text, **change) == problem
    opens(maker, text)  # a refused state is not used up


def test_a_state_is_bound_to_the_program():
    assert refusal(asking(program="changed"), state(asking())) == "was made before the program changed"


def test_a_state_is_bound_to_the_secret():
    assert refusal(asking(secret=b"x" * 32), state(asking())) == CHANGED
    assert refusal(asking(secret=None), state(asking(secret=None))) == CHANGED


@pytest.mark.parametrize("place", ["", ":memory:"])
def test_where_used_states_are_forgotten_at_the_end_so_is_the_key(place, tmp_path):
    def used():
        if not place:
            return UsedInMemory()
        database = Database(str(tmp_path))
        database.open(place)
        return UsedInDatabase(database)

    first = asking(used=used())
    text = state(first)
    assert refusal(asking(used=used()), text) == CHANGED
    opens(first, text)


def test_a_state_is_good_once():
    maker = asking()
    text = state(maker)
    opens(maker, text)
    assert refusal(maker, text) == "was used already: each is good once"


def test_a_state_is_good_for_ten_minutes():
    clock = Clock()
    maker = asking(clock=clock)
    first, second = state(maker), state(maker)
    clock.now += 599
    opens(maker, first)
    clock.now += 1
    assert refusal(maker, second) == "has expired: an answer may take 10 minutes"


def test_every_flipped_byte_is_refused():
    maker = asking()
    data = bytearray(urlsafe_b64decode(padded(state(maker))))
    for place in range(len(data)):
        data[place] ^= 0x40
        assert refusal(maker, unpadded(bytes(data))) == CHANGED
        data[place] ^= 0x40
    opens(maker, unpadded(bytes(data)))


def test_every_other_character_is_refused():
    maker = asking()
    text = state(maker)
    for place, character in enumerate(text):
        other = "A" if character != "A" else "B"
        assert refusal(maker, text[:place] + other + text[place + 1 :]) in (CHANGED, NOT_WHOLE)


def test_a_state_is_written_in_one_way_only():
    maker = asking()
    text = state(maker)
    for same in (
        text + "=",
        text + "\n",
        " " + text,
        text.replace("-", "+").replace("_", "/") + "==",
        text[:5] + "!" + text[5:],
    ):
        assert refusal(maker, same) == NOT_WHOLE
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    # The last character has bits that don't count: only one of those that decode alike is taken.
    taken = 0
    for last in alphabet:
        try:
            opens(asking(), text[:-1] + last)
            taken += 1
        except Refused:
            pass
    assert taken == 1


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 90, 122])
def test_what_is_cut_is_refused(size):
    maker = asking()
    assert refusal(maker, unpadded(urlsafe_b64decode(padded(state(maker)))[:size])) == NOT_WHOLE


def test_what_is_extended_is_refused():
    maker = asking()
    data = urlsafe_b64decode(padded(state(maker)))
    assert refusal(maker, unpadded(data + b"\0")) == NOT_WHOLE
    assert refusal(maker, unpadded(data[:-32] + bytes(50) + data[-32:])) == CHANGED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", NOT_WHOLE),
        ("x" * 1_000_000, TOO_LONG),
        ("é", NOT_WHOLE),
        ("\ud800", NOT_WHOLE),
        ("....", NOT_WHOLE),
        ("A", NOT_WHOLE),
        ("AAAA" * 100, NOT_WHOLE),
    ],
)
def test_foreign_texts_are_refused(text, problem):
    assert refusal(asking(), text) == problem


def test_what_is_signed_again_with_another_key_is_refused():
    maker = asking()
    body = urlsafe_b64decode(padded(state(maker)))[:-32]
    for key in (
        SECRET,
        blake3(SECRET).digest(),
        blake3(SECRET, derive_key_context="quillo: digests in question states, 1").digest(),
        blake3(SECRET, derive_key_context="quillo: tokens, 1").digest(),
    ):
        assert refusal(maker, unpadded(body + blake3(body, key=key).digest())) == CHANGED


@pytest.mark.parametrize("version", [0, FORMAT - 1, FORMAT + 1, 255])
def test_another_version_says_so(version):
    maker = asking()
    body = bytearray(urlsafe_b64decode(padded(state(maker)))[:-32])
    body[0] = version
    key = blake3(SECRET, derive_key_context="quillo: signatures of question states, 1").digest()
    assert refusal(maker, unpadded(bytes(body) + blake3(bytes(body), key=key).digest())) == (
        "was made by another version of Quillo"
    )


def test_a_state_holds_no_data_of_the_program_and_stays_small():
    maker = asking()
    made = answers(maker, *[f"Delete the note {'x' * 500} number {n}?" for n in range(10)])
    text = maker.seal(made, "stdio", "clear", {"secret": "y" * 10_000})
    assert len(text) < 4096
    data = urlsafe_b64decode(padded(text))
    for part in (b"Delete", b"xxx", b"yyy", b"clear", b"stdio"):
        assert part not in data


def test_a_hundred_questions_fit_and_not_a_character_more():
    maker = asking()
    text = maker.seal(answers(maker, *map(str, range(100))), "stdio", "clear", {"a": 1})
    assert not is_too_long(text)
    assert is_too_long(text + "A")
    assert len(opens(maker, text).entries) == 100


class Untouched(str):
    """A text of which nothing but its length is looked at."""

    def touched(self, *_, **__):
        raise AssertionError("it was read")

    encode = split = strip = translate = find = index = count = startswith = touched
    __iter__ = __getitem__ = __eq__ = __hash__ = __contains__ = touched  # type: ignore[assignment]


@pytest.mark.parametrize("character", ["A", "=", "é", "\ud800", "\0", "😀"])
def test_a_text_longer_than_any_state_is_refused_by_its_length_alone(character):
    maker = asking()
    for size in (10_000, 1_000_000):
        assert refusal(maker, Untouched(character * size)) == TOO_LONG


def test_digests_differ_by_what_they_stand_for():
    maker = asking()
    assert maker.digest("tool", "x") != maker.digest("caller", "x")
    assert maker.digest("tool", "x") != asking(secret=b"z" * 32).digest("tool", "x")


# --- arguments are compared as JSON values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1.0}, {"a": 1}),
        ({"a": [-0.0]}, {"a": [0]}),
        ({"a": 1e15, "b": [1.5e300]}, {"b": [int(1.5e300)], "a": 10**15}),
        ({"a": 1e16, "b": 1e17}, {"a": 10**16, "b": 10**17}),
        ({"a": "\ud800", "b": 2.0}, {"b": 2, "a": "\ud800"}),
        ({"a": {"c": [",1.0,"]}, "b": 3.0}, {"b": 3, "a": {"c": [",1.0,"]}}),
    ],
)
def test_the_same_values_written_otherwise(one, other):
    assert canonical(one) == canonical(other)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values, json_values)
def test_different_values_differ(one, other):
    import json

    def same(a, b):
        if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
            return a is b
        if isinstance(a, int | float) and isinstance(b, int | float):
            return a == b
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
        return type(a) is type(b) and a == b

    assert (canonical(one) == canonical(other)) == same(one, other)
    assert canonical(json.loads(json.dumps(one))) == canonical(one)


# --- used once


def test_memory_is_bounded_and_still_takes_nothing_twice():
    used = UsedInMemory(most=10)
    taken = [(bytes([n]) * 16, 1000 + n) for n in range(50)]
    for nonce, ends in taken:
        used.take(nonce, ends, 500)
    assert not any(used.take(nonce, ends, 500) for nonce, ends in taken)


def test_what_has_expired_makes_room_in_memory():
    used = UsedInMemory(most=10)
    for n in range(10):
        assert used.take(bytes([n]) * 16, 100, 50)
    assert used.take(b"x" * 16, 300, 200)
    assert used.take(b"y" * 16, 250, 200)


@pytest.fixture
def database(tmp_path):
    made = Database(str(tmp_path))
    made.open("data.db")
    yield made
    made.close()


def test_two_processes_with_one_database_take_a_state_once(database, tmp_path):
    other = Database(str(tmp_path))
    other.open("data.db")
    text = state(asking())
    opens(asking(used=UsedInDatabase(database)), text)
    assert refusal(asking(used=UsedInDatabase(other)), text) == "was used already: each is good once"
    other.close()


def test_the_table_forgets_what_has_expired(database):
    used = UsedInDatabase(database)
    assert used.take(b"a" * 16, 1000, 900)
    assert not used.take(b"a" * 16, 1000, 901)
    assert used.take(b"b" * 16, 2000, 1000 + LIFETIME)
    assert database.main.execute("select nonce from _quillo_ask_states").fetchall() == [(b"b" * 16,)]


def test_what_the_program_writes_is_on_disk_when_its_statement_returns(database):
    used = UsedInDatabase(database)
    assert used.take(b"a" * 16, 1000, 900)
    assert database.main.execute("pragma synchronous").fetchone() == (2,)
    database.main.execute("drop table _quillo_ask_states")
    database.main.execute("create view _quillo_ask_states as select 1 as nonce, 2 as ends")
    with pytest.raises(Stop, match="can't keep that a question's state was used"):
        used.take(b"b" * 16, 1000, 900)
    assert database.main.execute("pragma synchronous").fetchone() == (2,)


def test_a_table_that_the_program_drops_is_made_again(database):
    used = UsedInDatabase(database)
    used.take(b"a" * 16, 1000, 900)
    database.main.execute("drop table _quillo_ask_states")
    assert used.take(b"b" * 16, 1000, 901)


def test_an_unanswered_question_keeps_its_place():
    maker = asking()
    found = opens(maker, maker.seal(answers(maker, "one", answer=NONE), "stdio", "clear", {"a": 1}))
    assert found.waiting is not None
    assert found.waiting.answer == NONE


def padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def unpadded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
