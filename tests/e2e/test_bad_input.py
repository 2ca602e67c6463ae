"""What is typed or stored wrongly: one line that says what, where and how to mend it, and nothing changes."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from autoquant.arena.client.standalone import undecided
from autoquant.errors import DataError, UserError
from autoquant.market import synthetic_setup
from autoquant.market.manifest import SYNTHETIC
from autoquant.oracle import command


def say(capsys: pytest.CaptureFixture[str], program: str, *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a command that must print nothing on stdout."""
    try:
        code = importlib.import_module(program).main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert "" == out
    return code, err


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("evaluate", ("--samples", "10"), "--samples goes with --calibrate"),
        ("evaluate", ("--calibrate", "--split", "train"), "--split does not go with it"),
        ("evaluate", ("--jobs", "0"), "not a whole number of at least 1"),
        ("setup_data", ("--synthetic", "--seed", "-1"), "not a whole number of at least 0"),
        ("setup_data", ("--verify", "--force"), "--verify only reads"),
        ("setup_data", ("--verify", "--jobs", "2"), "--verify only reads"),
        ("setup_data", ("--synthetic", "--jobs", "2"), "--synthetic downloads nothing"),
        ("setup_data", ("--seed", "3"), "--seed goes with --synthetic"),
        ("run", ("--from", "best", "-m", "an idea"), "--from judges nothing"),
    ],
)
def test_options_that_say_nothing_together_are_refused(
    program: str, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, err = say(capsys, program, "--data-dir", str(tmp_path), *arguments)
    assert 2 == code
    assert words in err
    assert f"hint: {program}.py --help" == err.splitlines()[-1]
    assert [] == list(tmp_path.iterdir())


def test_a_file_where_the_data_should_go_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    code, err = say(capsys, "setup_data", "--synthetic", "--data-dir", str(tmp_path / "data"))
    assert (2, "mine") == (code, (tmp_path / "data").read_text())
    assert "a file stands where the data should go" in err


def test_what_is_no_plain_file_is_no_strategy(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / "missing.py"):
        with pytest.raises(UserError, match=str(path)):
            command.read_strategy(path)


def test_an_endless_strategy_is_read_to_where_the_gate_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_bytes(b"#" * (1 << 20))
    assert (256 << 10) + 1 == len(command.read_strategy(tmp_path / "big.py"))


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    synthetic_setup.make_synthetic(root)
    return root


def test_prices_that_are_not_the_pinned_ones_are_never_scored(market: Path) -> None:
    with (market / SYNTHETIC / "valid.npy").open("r+b") as file:
        file.seek(3_000_000)
        before = file.read(1)
        file.seek(3_000_000)
        file.write(bytes([before[0] ^ 1]))
    with pytest.raises(DataError, match="content differs from the manifest's digest"):
        command.open_judge(market, "valid", jobs=1)
    with (market / SYNTHETIC / "valid.npy").open("r+b") as file:
        file.seek(3_000_000)
        file.write(before)


def test_a_broken_calibration_is_named_with_what_to_run(market: Path) -> None:
    (market / SYNTHETIC / "calibration.json").write_text('{"value": ')
    with pytest.raises(DataError, match=r"synthetic/calibration\.json: not valid JSON") as refused:
        command.load_calibration(market / SYNTHETIC)
    assert "evaluate.py --calibrate" in refused.value.hint


def test_a_fault_is_told_with_place_reason_and_remedy(
    market: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command.cli, "HOME", _home(tmp_path))
    (tmp_path / "mine.py").write_text(
        "import os\n\ndef target_weights(panel, train_end):\n    return panel.close * 0\n"
    )
    assert 3 == command.evaluate(
        tmp_path / "mine.py", market, split="valid", jobs=1, as_json=False, score_file=undecided
    )
    error, hint = capsys.readouterr().err.splitlines()
    assert "error: mine.py:1: ForbiddenImport: imports os, which is not allowed" == error
    assert hint.startswith("hint: numpy, pandas, scipy")


def _home(folder: Path) -> Path:
    (folder / "protected.sha256").write_text("")
    return folder
