"""Proves all that the engines assume of a Module, so that they need no checks of their own.

    verify(module)                       the whole Module
    control_flow(module, number)         one function, with what an engine needs to know of each instruction
"""

from __future__ import annotations

from qasm.flow import ControlFlow, control_flow
from qasm.module import Module

__all__ = ["ControlFlow", "control_flow", "verify"]


def verify(module: Module) -> None:
    """Raises BadModule, with one sentence that says where and what, unless the engines can run this Module."""
    raise NotImplementedError
