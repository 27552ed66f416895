"""Makers for control: blocks, branches, returning, paying for steps, and what stops on purpose.

The handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from qvm.mistakes import no_bool, refuse_error, refused
from qvm.prepare import LEAVE, STOPPED, Handler, Site
from qvm.values import ABSENT, Response, Stop, kind_of


def make_nothing(site: Site) -> Handler:
    """BLOCK, LOOP, END and TRY: where error stops go is known from the code, so nothing is noted as it runs."""
    following = site.following

    def nothing(stack, locals, task):
        return following

    return nothing


def make_jump(site: Site) -> Handler:
    """ELSE and CATCH: the arm before is done."""
    target = site.target

    def jump(stack, locals, task):
        return target

    return jump


def make_if(site: Site) -> Handler:
    following, target = site.following, site.target

    def if_true(stack, locals, task):
        test = stack.pop()
        if test is True:
            return following
        if test is False:
            return target
        raise no_bool("a condition", test)

    return if_true


def make_branch(site: Site) -> Handler:
    target = site.target
    base, keep = site.cut(0)
    if base < 0:
        return make_jump(site)

    def branch(stack, locals, task):
        del stack[base:]
        return target

    def branch_with_value(stack, locals, task):
        stack[base:] = stack[-1:]
        return target

    return branch_with_value if keep else branch


def make_branch_on(wanted: bool):
    """BR_IF and BR_UNLESS."""

    def make(site: Site) -> Handler:
        following, target = site.following, site.target
        base, keep = site.cut(1)

        def branch_on(stack, locals, task):
            test = stack.pop()
            if test is wanted:
                return target
            if test is other:
                return following
            raise no_bool("a condition", test)

        def branch_on_and_cut(stack, locals, task):
            test = stack.pop()
            if test is wanted:
                stack[base:] = stack[-1:] if keep else ()
                return target
            if test is other:
                return following
            raise no_bool("a condition", test)

        return branch_on if base < 0 else branch_on_and_cut

    other = not wanted
    return make


def make_return(site: Site) -> Handler:
    def return_value(stack, locals, task):
        frames = task.frames
        frames.pop()
        if frames:
            frames[-1].stack.append(stack[-1])
            return LEAVE
        task.returned(stack[-1])
        return STOPPED

    return return_value


def make_charge(site: Site) -> Handler:
    count, following, after = site.operands[0], site.following, site.pc + 1

    def charge(stack, locals, task):
        fuel = task.fuel - count
        task.fuel = fuel
        if fuel < 0:
            return task.out_of_fuel(count, after)
        return following

    return charge


def make_if_absent(site: Site) -> Handler:
    slot, following, target = site.operands[0], site.following, site.target

    def if_absent(stack, locals, task):
        return following if locals[slot] is ABSENT else target

    return if_absent


def make_stop(site: Site) -> Handler:
    message = site.constant(0)

    def stop(stack, locals, task):
        raise Stop(message)

    return stop


def make_reply(site: Site) -> Handler:
    def reply(stack, locals, task):
        status, body = stack[-2], stack[-1]
        if type(status) is not int or not 100 <= status <= 599:
            got = status if type(status) is int else kind_of(status)
            raise refused(f"the status of a reply must be a whole number from 100 to 599, got {got}", status)
        refuse_error(body)
        raise Stop(f"reply {status}", "reply", detail=Response(status, body, {}))

    return reply


def make_assert(site: Site) -> Handler:
    condition, count, following = site.constant(0), site.operands[1], site.following

    def check_assertion(stack, locals, task):
        test = stack.pop()
        if test is not True:
            raise _broken(condition, test, stack[-count:] if count else [])
        if count:
            del stack[-count:]
        return following

    return check_assertion


def _broken(condition: str, test: object, sides: list[object]) -> Stop:
    if test is not False:
        return no_bool("what `assert` tests", test)
    message = f"assertion failed: {condition}"
    if sides:
        message += f": {_shown(sides[0])} on the left, {_shown(sides[1])} on the right"
    return Stop(message)


def _shown(value: object) -> str:
    from qvm.text import write_out

    return write_out([value])[1:-1]  # as inside a list, so that a text is told apart from a number


MAKERS = {
    "BLOCK": make_nothing,
    "LOOP": make_nothing,
    "END": make_nothing,
    "TRY": make_nothing,
    "ELSE": make_jump,
    "CATCH": make_jump,
    "IF": make_if,
    "BR": make_branch,
    "BR_IF": make_branch_on(True),
    "BR_UNLESS": make_branch_on(False),
    "RETURN": make_return,
    "CHARGE": make_charge,
    "IF_ABSENT": make_if_absent,
    "STOP": make_stop,
    "REPLY": make_reply,
    "ASSERT": make_assert,
}
