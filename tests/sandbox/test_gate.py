import pytest

from autoquant.errors import ImportGateError
from autoquant.sandbox import check_source

BODY = b"\n\ndef target_weights(panel, train_end):\n    return panel.close * 0.0\n"


def refused(source: bytes) -> ImportGateError:
    with pytest.raises(ImportGateError) as caught:
        check_source(source)
    return caught.value


def test_the_seed_passes(repository) -> None:
    facts = check_source((repository / "strategy.py").read_bytes())
    assert ("numpy",) == facts.imports
    assert facts.lines <= 80


def test_allowed_imports_are_listed_with_their_parts() -> None:
    facts = check_source(b"import pandas as pd\nfrom scipy import stats\nimport scipy.signal as s\nimport math" + BODY)
    assert ("math", "pandas", "scipy", "scipy.signal", "scipy.stats") == facts.imports
    assert ("scipy.signal", "scipy.stats") == facts.preload


@pytest.mark.parametrize(
    ("first", "word"),
    [
        (b"import os", "imports os"),
        (b"import numpy.ctypeslib", "imports numpy.ctypeslib"),
        (b"from numpy import ctypeslib", "imports numpy.ctypeslib"),
        (b"from scipy.io import loadmat", "imports scipy.io"),
        (b"from . import helper", "relative import"),
        (b"x = open('data')", "calls open()"),
        (b"eval('1')", "calls eval()"),
        (b"__import__('os')", "calls __import__()"),
        (b"def f(:", "strategy.py line 1"),
        (b"x = '\xff'", "not UTF-8"),
    ],
)
def test_what_is_outside_the_interface_is_refused_with_its_line(first: bytes, word: str) -> None:
    error = refused(first + BODY)
    assert word in error.message
    assert 1 == error.line


def test_an_import_inside_a_function_is_seen() -> None:
    assert 3 == refused(b"def target_weights(panel, train_end):\n    x = 1\n    import socket\n").line


def test_a_variable_named_open_is_no_call() -> None:
    check_source(b"def target_weights(panel, train_end):\n    open = panel.open\n    return open * 0.0\n")


def test_a_file_without_target_weights_at_top_level_is_refused() -> None:
    assert "defines no target_weights" in refused(b"class A:\n    def target_weights(self): ...\n").message


def test_too_many_lines_are_refused() -> None:
    assert "lines, at most 600" in refused(b"x = 1\n" * 601 + BODY).message


def test_too_many_bytes_are_refused_before_parsing() -> None:
    assert "bytes, at most" in refused(b"#" * 300_000).message


@pytest.mark.parametrize("source", [b"(" * 5000 + b")" * 5000, b"x = " + b"-" * 100_000 + b"1", b"x = 1\0"])
def test_a_file_made_to_break_the_parser_is_refused(source: bytes) -> None:
    assert "SyntaxError" == refused(source + BODY).kind


def test_an_invalid_escape_is_a_warning_and_passes() -> None:
    check_source(b"import re\nx = re.compile('\\d')" + BODY)
