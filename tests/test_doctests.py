"""Every example in a docstring of the package is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import autoquant

MODULES = [module.name for module in pkgutil.walk_packages(autoquant.__path__, "autoquant.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_its_docstrings_hold(name: str) -> None:
    assert 0 == doctest.testmod(importlib.import_module(name)).failed
