"""Checks what makes values and what takes them apart: literals, names, lists, records, fields, indexes, texts."""

from __future__ import annotations

from compiler import syntax
from compiler.checking import Checking, Wanted, checks
from compiler.names import Symbol
from compiler.narrowing import path_of
from compiler.prelude import BUILTINS
from compiler.relations import MISTAKE, bounded, fits, join, kinds_of, members_of, settled, widened, without_null
from compiler.spelling import list_of, nearest
from compiler.types import (
    ANY,
    BOOL,
    ERROR,
    FLOAT,
    HTML,
    INT,
    NEVER,
    NULL,
    SQL,
    STR,
    FieldType,
    ListType,
    LiteralType,
    MapType,
    RecordType,
    Type,
    UnionType,
    resolved,
)
from compiler.walking import Walk
from compiler.wording import got_text, named, wanted_text

_LITERALS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STR, type(None): NULL}
REQUEST = RecordType(
    (
        FieldType("method", STR),
        FieldType("path", STR),
        FieldType("query", ANY),
        FieldType("form", ANY),
        FieldType("headers", ANY),
        FieldType("cookies", ANY),
        FieldType("body", ANY),
        FieldType("json", ANY),
        FieldType("ip", ANY),
        FieldType("mcp", ANY),
    )
)
# What other languages have as a field, and the builtin that gives it here.
_AS_BUILTINS = {"length": "len", "size": "len", "count": "len"}


@checks(syntax.Literal)
def literal(check: Checking, node: syntax.Literal, wanted: Wanted | None) -> Type:
    value = node.value
    type = _LITERALS[value.__class__]
    if value is not None and wanted is not None and _has_literals(wanted.type):
        exact = LiteralType(value)
        if fits(exact, wanted.type):
            return check.typed(node, exact if _names(wanted.type, exact) else type)
        return check.typed(node, exact, False, wanted)
    return check.typed(node, type, False, wanted)


def _has_literals(type: Type) -> bool:
    return any(isinstance(resolved(member), LiteralType) for member in members_of(type))


def _names(type: Type, exact: LiteralType) -> bool:
    return any(resolved(member) == exact for member in members_of(type))


@checks(syntax.Name)
def name(check: Checking, node: syntax.Name, wanted: Wanted | None) -> Type | Walk:
    return of_symbol(check, node, node.symbol, wanted)


def of_symbol(
    check: Checking, node: syntax.Name | syntax.Field, symbol: Symbol | None, wanted: Wanted | None
) -> Type | Walk:
    """The value that a name, or `lib.name`, stands for."""
    if symbol is None:
        return check.typed(node, MISTAKE, True)
    match symbol.kind:
        case "local" | "parameter" | "global" if not isinstance(symbol.node, syntax.Function):
            return check.typed(node, check.variable_type(symbol), check.variable_fails(symbol), wanted)
        case "local" | "function":
            from compiler.check_functions import function_value

            return function_value(check, node, symbol, wanted)
        case "builtin":
            from compiler.check_calls import builtin_value

            return check.typed(node, builtin_value(symbol.name), False, wanted)
        case "request":
            return check.typed(node, REQUEST, False, wanted)
        case "children":
            return check.typed(node, HTML, False, wanted)
    return check.typed(node, ANY, True)


# --- texts ------------------------------------------------------------------------------------------------------


@checks(syntax.Template)
def template(check: Checking, node: syntax.Template, wanted: Wanted | None) -> Walk:
    for part in node.parts:
        if not isinstance(part, str):
            yield check.expression(part)
    return check.typed(node, STR, False, wanted)


@checks(syntax.SqlTemplate)
def sql_template(check: Checking, node: syntax.SqlTemplate, wanted: Wanted | None) -> Walk:
    for part in node.parts:
        if not isinstance(part, str):
            yield check.expression(part)
    return check.typed(node, SQL, False, wanted)


# --- lists and records --------------------------------------------------------------------------------------------


@checks(syntax.ListLiteral)
def list_literal(check: Checking, node: syntax.ListLiteral, wanted: Wanted | None) -> Walk:
    item = item_wanted(wanted)
    types: list[Type] = []
    reported = len(check.findings)
    for number, part in enumerate(node.items):
        if isinstance(part, syntax.Spread):
            types.append(spread_items(check, part, (yield check.expression(part.value))))
        else:
            must_be = wanted.part(f"[{number}]", item) if wanted is not None and item is not None else None
            types.append(settled((yield check.expression(part, must_be))))
    found = bounded(ListType(widened_unless(item, join(*types))))
    return check.typed(node, found, False, wanted if len(check.findings) == reported else None)


def widened_unless(wanted: object, type: Type) -> Type:
    """A type as a variable keeps it; as it is where something exact is wanted."""
    return widened(type) if wanted is None else type


def item_wanted(wanted: Wanted | None) -> Type | None:
    """What the items of a list must be, None where that is open or no list is wanted."""
    if wanted is None:
        return None
    lists = [inner for inner in map(resolved, members_of(wanted.type)) if isinstance(inner, ListType)]
    if len(lists) != 1 or lists[0].item == ANY:
        return None
    return lists[0].item


def item_of(item: Type) -> Type:
    """What is taken out of a list: of one that is known to be empty, nothing is known."""
    return ANY if item == NEVER else item


def spread_items(check: Checking, part: syntax.Spread, type: Type) -> Type:
    kinds = kinds_of(type)
    if kinds is None:
        return ANY
    if "list" not in kinds and resolved(type) != NEVER:
        check.error("Q0322", f"`...` in a list needs a list, got {got_text(type)}", part.value)
        return MISTAKE
    return join(*(inner.item for inner in map(resolved, members_of(type)) if isinstance(inner, ListType)))


@checks(syntax.RecordLiteral)
def record_literal(check: Checking, node: syntax.RecordLiteral, wanted: Wanted | None) -> Walk:
    shapes = _shapes_wanted(node, wanted)
    shape = shapes[0] if len(shapes) == 1 else None
    found: dict[str, FieldType] = {}
    is_open = not node.fields and not isinstance(shape, RecordType)
    reported = len(check.findings)
    for part in node.fields:
        if isinstance(part, syntax.Spread):
            is_open |= _spread_fields(check, part, (yield check.expression(part.value)), found)
            continue
        field_wanted = _field_wanted(shapes, part.name, wanted)
        type = settled((yield check.expression(part.value, field_wanted)))
        found[part.name] = FieldType(part.name, widened_unless(field_wanted, type))
    type = bounded(RecordType(tuple(found.values()), is_open))
    if wanted is not None and isinstance(shape, RecordType) and len(check.findings) == reported:
        _report_fields(check, node, shape, found, is_open, wanted.type)
    # What was reported inside is not reported again for the whole.
    return check.typed(node, type, False, wanted if len(check.findings) == reported else None)


def _field_wanted(shapes: list[RecordType | MapType], name: str, wanted: Wanted | None) -> Wanted | None:
    """What a field of a record literal must be, where it is to be of one of these shapes."""
    types: list[Type] = []
    for shape in shapes:
        if isinstance(shape, MapType):
            types.append(shape.value)
        else:
            known = shape.get(name)
            if known is not None:
                types.append(known.type)
    type = join(*types)
    return wanted.part(f".{name}", type) if types and type != ANY and wanted is not None else None


def _shapes_wanted(node: syntax.RecordLiteral, wanted: Wanted | None) -> list[RecordType | MapType]:
    """The record and map types that a record literal may have to be: those that its literals leave the choice of."""
    if wanted is None:
        return []
    shapes = [inner for inner in map(resolved, members_of(wanted.type)) if isinstance(inner, RecordType | MapType)]
    if len(shapes) < 2:
        return shapes
    return [shape for shape in shapes if isinstance(shape, MapType) or _may_be(node, shape)] or shapes


def _may_be(node: syntax.RecordLiteral, shape: RecordType) -> bool:
    """Do the literals of the record that tell its kind leave it the choice to be of this shape?"""
    for part in node.fields:
        if isinstance(part, syntax.RecordField) and isinstance(part.value, syntax.Literal):
            known = shape.get(part.name)
            value = part.value.value
            exact = NULL if value is None else LiteralType(value)
            if known is not None and _has_literals(known.type) and not fits(exact, known.type):
                return False
    return True


def _report_fields(
    check: Checking,
    node: syntax.RecordLiteral,
    shape: RecordType,
    found: dict[str, FieldType],
    is_open: bool,
    wanted: Type,
) -> None:
    """Reports the fields that a record literal lacks or has too many; one report, at the first."""
    known = [f.name for f in shape.fields]
    kept = without_null(wanted)
    type_name = wanted_text(kept) if isinstance(resolved(kept), UnionType) else named(kept)
    if type_name == "the record":
        type_name = "the record type"
    if not shape.open:
        for part in node.fields:
            if isinstance(part, syntax.RecordField) and shape.get(part.name) is None:
                near = nearest(part.name, [n for n in known if n not in found])
                message = f"{type_name} has no field `{part.name}`"
                message += f": did you mean `{near}`?" if near else _it_has(known)
                check.report("error", "Q0331", message, part.start, part.start + max(len(part.name), 1))
                return
    if is_open:
        return
    for field in shape.fields:
        if field.required and field.name not in found:
            message = f"`{field.name}` is missing: {type_name} needs it, as {wanted_text(field.type)}"
            check.report("error", "Q0332", message, node.start, node.end)
            return


def _it_has(names: list[str]) -> str:
    return f": it has {list_of(names)}" if names else ""


def _spread_fields(check: Checking, part: syntax.Spread, type: Type, found: dict[str, FieldType]) -> bool:
    """Adds what `...record` brings; whether it may bring further fields."""
    inner = resolved(type)
    if isinstance(inner, RecordType):
        for field in inner.fields:
            before = found.get(field.name)
            if field.required or before is None:
                found[field.name] = field
            else:
                found[field.name] = FieldType(field.name, join(before.type, field.type), before.required)
        return inner.open
    kinds = kinds_of(type)
    if kinds is not None and "record" not in kinds and inner != NEVER:
        check.error("Q0322", f"`...` in a record needs a record, got {got_text(type)}", part.value)
    # What is not known may also replace the fields before it.
    for name in list(found):
        found[name] = FieldType(name, ANY)
    return True


# --- fields -------------------------------------------------------------------------------------------------------


@checks(syntax.Field)
def field(check: Checking, node: syntax.Field, wanted: Wanted | None) -> Type | Walk:
    if node.symbol is not None:
        return of_symbol(check, node, node.symbol, wanted)
    if isinstance(node.value, syntax.Name):
        symbol = node.value.symbol
        if symbol is not None and symbol.kind in ("file", "service", "builtin"):
            return check.typed(node, ANY, True)
    return _field_of_value(check, node, wanted)


def _field_of_value(check: Checking, node: syntax.Field, wanted: Wanted | None) -> Walk:
    base: Type = yield check.expression(node.value)
    type = field_type(check, node, base)
    place = path_of(node)
    if place is not None:
        known = check.flow.lookup(*place)
        if known is not None:
            type = known
    return check.typed(node, type, check.failure_of(node.value) if node.optional else False, wanted)


def field_type(check: Checking, node: syntax.Field, base: Type) -> Type:
    """The type of a field; a field that no value can have is reported, one of what may be null is warned of."""
    types: list[Type] = []
    lacking: list[Type] = []
    has_null = False
    members = members_of(base)
    for member in members:
        inner = resolved(member)
        if inner == NULL:
            has_null = True
            continue
        found = _field_of_member(inner, node.name)
        if found is None:
            lacking.append(member)
        else:
            types.append(found)
    if has_null and len(members) == 1:
        if not node.optional:
            check.error("Q0333", f"cannot read `{node.name}` of null", node)
            return MISTAKE
        return NULL
    if not types:
        if resolved(base) == NEVER:
            return NEVER
        _no_field(check, node, lacking)
        return MISTAKE
    if lacking:
        types.append(NULL if any(isinstance(resolved(m), RecordType) for m in lacking) else NEVER)
    if has_null:
        if node.optional:
            types.append(NULL)
        elif not _comes_of_a_map(node.value) and any(_has_known_fields(m) for m in members):
            _maybe_null(check, node, base)
    return join(*types)


def _field_of_member(inner: Type, name: str) -> Type | None:
    """The type of a field of one kind of value, None where it can't have it."""
    match inner:
        case RecordType():
            known = inner.get(name)
            if known is None:
                return ANY if inner.open else None
            return known.type if known.required else join(known.type, NULL)
        case MapType(value):
            return join(value, NULL)
    return ANY if inner in (ANY, ERROR, MISTAKE) else None


def _has_known_fields(member: Type) -> bool:
    inner = resolved(member)
    return isinstance(inner, MapType) or (isinstance(inner, RecordType) and not inner.open)


def _comes_of_a_map(node: syntax.Expression) -> bool:
    """Is it `m["key"]`? That it may be null is in the nature of maps, and written nowhere."""
    if not isinstance(node, syntax.Index) or node.value.type is None:
        return False
    return any(isinstance(resolved(member), MapType) for member in members_of(node.value.type))


def _maybe_null(check: Checking, node: syntax.Field, base: Type) -> None:
    name = node.name
    kept = without_null(base)
    what = "a value" if isinstance(resolved(kept), UnionType) else named(kept)
    message = f"`{name}` is read of what may be null: test it with `!= null` first, or write `?.{name}`"
    start = node.name_start or node.end - len(name)
    hint = f"{what} or null is what stands before the `.`"
    check.report("warning", "Q0334", message, start, start + len(name), hint)
    place = path_of(node.value)
    if place is not None:
        # Where this is passed, it was not null: that is said once.
        check.flow.set(*place, kept)


def _no_field(check: Checking, node: syntax.Field, lacking: list[Type]) -> None:
    start = node.name_start or node.end - len(node.name)
    inner = resolved(lacking[0])
    if len(lacking) == 1 and isinstance(inner, RecordType):
        known = [f.name for f in inner.fields]
        near = nearest(node.name, known)
        message = f"{named(lacking[0])} has no field `{node.name}`"
        message += f": did you mean `{near}`?" if near else _it_has(known)
    else:
        message = f"{got_text(join(*lacking))} has no field `{node.name}`"
        meant = node.name if node.name in BUILTINS else _AS_BUILTINS.get(node.name)
        if meant is not None and not BUILTINS[meant].hidden:
            message += f": write `{meant}(…)`"
    check.report("error", "Q0331", message, start, start + len(node.name))


# --- elements -----------------------------------------------------------------------------------------------------


@checks(syntax.Index)
def index(check: Checking, node: syntax.Index, wanted: Wanted | None) -> Walk:
    base: Type = yield check.expression(node.value)
    key: Type = yield check.expression(node.index)
    type = element_type(check, node, base, key)
    place = path_of(node)
    if place is not None:
        known = check.flow.lookup(*place)
        if known is not None:
            type = known
    return check.typed(node, type, False, wanted)


def element_type(check: Checking, node: syntax.Index, base: Type, key: Type) -> Type:
    """The type of `base[key]`; what has no elements, and a key that can't be one, are reported."""
    kinds = kinds_of(base)
    if resolved(base) == NEVER:
        return NEVER
    if kinds is None:
        return ANY
    usable = kinds & {"list", "str", "record"}
    if not usable:
        check.error("Q0335", f"only a list, a text or a record has elements, got {got_text(base)}", node.value)
        return MISTAKE
    keys = kinds_of(key)
    places = usable & {"list", "str"}
    if keys is not None and not (places and "int" in keys) and not ("record" in usable and "str" in keys):
        if usable == {"record"}:
            message = f"a record's key must be str, got {got_text(key)}"
        else:
            message = f"an index must be int, got {got_text(key)}"
        check.error("Q0336", message, node.index)
        return MISTAKE
    types: list[Type] = []
    for inner in map(resolved, members_of(base)):
        match inner:
            case ListType(item) if keys is None or "int" in keys:
                types.append(item_of(item))
            case MapType(value) if keys is None or "str" in keys:
                types += (value, NULL)
            case RecordType() if keys is None or "str" in keys:
                types.append(_record_element(inner, node.index))
            case _ if inner == STR and (keys is None or "int" in keys):
                types.append(STR)
            case LiteralType():
                types.append(STR)
    return join(*types)


def _record_element(inner: RecordType, key: syntax.Expression) -> Type:
    if isinstance(key, syntax.Literal) and isinstance(key.value, str):
        known = inner.get(key.value)
        if known is not None:
            return known.type if known.required else join(known.type, NULL)
    # A key that is looked up at run time may be there or not: that is what `[…]` is for.
    return ANY


@checks(syntax.Slice)
def slice_of(check: Checking, node: syntax.Slice, wanted: Wanted | None) -> Walk:
    base: Type = yield check.expression(node.value)
    for end in (node.low, node.high):
        if end is not None:
            yield check.expression(end, Wanted(UnionType((INT, NULL)), "a slice's end", "Q0336"))
    kinds = kinds_of(base)
    if kinds is not None and not kinds & {"list", "str"} and resolved(base) != NEVER:
        check.error("Q0335", f"only a list or a text has slices, got {got_text(base)}", node.value)
        return check.typed(node, MISTAKE)
    if kinds is None:
        return check.typed(node, ANY)
    types = [m for m in members_of(base) if isinstance(resolved(m), ListType)]
    return check.typed(node, join(*types, *([STR] if "str" in kinds else [])), False, wanted)


@checks(syntax.Propagate)
def propagate(check: Checking, node: syntax.Propagate, wanted: Wanted | None) -> Walk:
    type = yield check.expression(node.value)
    check.state.failures.append(True)
    return check.typed(node, NEVER if type == ERROR else type, False, wanted)
