"""A room's door whose names load when they are first asked for: who takes one name pays for no other module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Parameters
    ----------
    package : its `__name__`.
    homes : module of the package in which each name is found.

    Raises
    ------
    AttributeError : by what is returned, for any other name.

    >>> names_of("autoquant", {"default_jobs": "executor"})("default_jobs").__module__
    'autoquant.executor'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
