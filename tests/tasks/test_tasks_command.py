"""`arena.py tasks list | show | grade` as people type them: text, JSON, exit codes, and what is said of mistakes."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from task_cases import AS_TABLE, REVERTS, changed, pair, planted, saved, single

from autoquant import codec
from autoquant.market.indices import Bars
from autoquant.tasks.grade import Grade
from autoquant.tasks.spec import ORDER, TaskSpec, task
from autoquant.tasks.truth import reference_source

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, small: tuple[Bars, Bars]) -> Path:
    return saved(tmp_path_factory.mktemp("data"), *small, source="synthetic", seed=7)


@pytest.fixture(scope="module")
def earning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files on whose ratio one can earn, on the hidden bars as well."""
    shown, hidden = planted(5, 5_000, 0.002), planted(3, 6_000, 0.0006, first_day="2023-01-02")
    return saved(tmp_path_factory.mktemp("earning"), shown, hidden, source="files")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], data: Path) -> Say:
    """Exit code, stdout and stderr of `arena.py tasks …`."""

    def run(*words: str, where: Path | None = None) -> tuple[int, str, str]:
        try:
            code = importlib.import_module("arena").main(["tasks", *words, "--data-dir", str(where or data)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def solution(tmp_path: Path) -> Callable[[bytes], str]:
    def put(source: bytes) -> str:
        (tmp_path / "solution.py").write_bytes(source)
        return str(tmp_path / "solution.py")

    return put


def test_list_names_the_three_tasks_and_the_data(say) -> None:
    code, out, err = say("list")
    assert (0, "") == (code, err)
    assert [
        "easy    SMA crossover           generate_trades(df)",
        "medium  Pairs with cooldown     generate_trades(nifty_df, banknifty_df)",
        "hard    Alpha research          generate_trades(nifty_df, banknifty_df)",
        "",
        "data    synthetic, seed 7: not a market; 9,000 bars shown to 2022-12-30, 3,000 hidden behind",
    ] == out.splitlines()


def test_list_without_data_says_how_to_get_some(say, tmp_path: Path) -> None:
    code, out, err = say("list", where=tmp_path)
    assert (0, "") == (code, err)
    assert ["easy", "medium", "hard", ""] == [line.partition(" ")[0] for line in out.splitlines()[:4]]
    assert f"no index data in {tmp_path / 'indices'}; bring files: setup_data.py --indices" in out


def test_list_as_json_holds_specifications_and_manifest(say, tmp_path: Path) -> None:
    code, out, _ = say("list", "--json")
    answer = json.loads(out)
    assert (0, None) == (code, answer["problem"])
    assert [task(name) for name in ORDER] == [codec.decode(TaskSpec, spec) for spec in answer["tasks"]]
    assert (9_000, 3_000) == (answer["data"]["shown"]["rows"], answer["data"]["hidden"]["rows"])
    answer = json.loads(say("list", "--json", where=tmp_path)[1])
    assert answer["data"] is None
    assert "no index data" in answer["problem"]


@pytest.mark.parametrize("name", ORDER)
def test_show_tells_the_brief_and_every_rung(say, name) -> None:
    code, out, err = say("show", name)
    spec = task(name)
    assert (0, "") == (code, err)
    assert f"{name}: {spec.title}" == out.splitlines()[0]
    assert spec.brief.strip() in out
    assert all(f"  {rung.score:.2f}  {rung.words}" in out for rung in spec.rung)
    assert f"  0.00  {spec.base}" in out
    assert ("-1 0.30, 0 0.50, 0.5 0.65, 1 0.80, 1.5 0.90, 2 1.00" in out) == (name == "hard")


def test_show_as_json_is_the_specification(say) -> None:
    code, out, _ = say("show", "medium", "--json")
    assert (0, task("medium")) == (code, codec.loads(TaskSpec, out))


def test_show_needs_no_data(say, tmp_path: Path) -> None:
    assert 0 == say("show", "easy", where=tmp_path)[0]


@pytest.mark.parametrize(("name", "score"), [("medium", "1.00"), ("hard", "0.25  (backtest)")])
def test_grade_begins_with_task_and_score(say, solution, name, score) -> None:
    code, out, err = say("grade", solution(reference_source(name)), "--task", name)
    assert (0, "") == (code, err)
    assert f"{name}  {score}" == out.splitlines()[0]
    assert ("mend first" in out) == (name == "hard")


def test_grade_explains_each_check_with_value_target_and_tolerance(say, solution) -> None:
    source = changed("easy", ("FAST, SLOW = 20, 50", "FAST, SLOW = 20, 52"))
    code, out, _ = say("grade", solution(source), "--task", "easy")
    lines = out.splitlines()
    assert (0, "easy  0.75") == (code, lines[0])
    assert (
        "on     synthetic data: not a market result; truth: what the reference solution gives on these data" == lines[1]
    )
    assert "  0.45  yes  its rows can be replayed, and some position is not 0" in lines
    assert "        yes trades                  204  target 212 (201 to 223)" in lines
    assert (
        "  0.90  NO   the Sharpe ratio is within 0.5 of the target (sharpe is -6.0987, wanted -7.1982 to -6.1982)"
        in lines
    )
    assert "        NO  sharpe              -6.0987  target -6.6982 (-7.1982 to -6.1982)" in lines
    assert lines[-1].startswith("mend first, for 0.90: the Sharpe ratio is within 0.5 of the target (sharpe is -6.0987")
    assert any(line.startswith("trades 204 · pnl -403.") for line in lines)


def test_grade_leaves_open_what_was_not_reached(say, solution) -> None:
    _, out, _ = say("grade", solution(single("raise ValueError('mine')")), "--task", "easy")
    assert "  0.20  NO   it runs without crashing, within its limits (solution line 6: ValueError: mine)" in out
    assert "  0.30  –    it returns a DataFrame with exactly the columns bar and position" in out
    assert not any(line.startswith("trades ") for line in out.splitlines())


def test_grade_shows_what_looks_ahead_in_the_text_with_its_line(say, solution) -> None:
    source = pair("x = nifty_df['Close'].shift(-1)", *REVERTS, AS_TABLE)
    _, out, _ = say("grade", solution(source), "--task", "hard")
    assert "line 6: shift(-1) takes the value of a later row" in out.splitlines()


def test_a_final_grade_of_the_hard_task_tells_the_hidden_sharpe_and_a_backtest_does_not(say, solution, earning) -> None:
    path = solution(pair(*REVERTS, AS_TABLE))
    code, out, err = say("grade", path, "--task", "hard", where=earning)
    assert (0, "", "hard  0.30  (backtest)") == (code, err, out.splitlines()[0])
    assert "hidden" not in out
    assert "on     5,000 bars from files" in out
    code, out, err = say("grade", path, "--task", "hard", "--final", where=earning)
    assert (0, "") == (code, err)
    assert "hard  0.96" == out.splitlines()[0]
    assert "  hidden bars: Sharpe 1.7" in out
    assert "mend first, a higher Sharpe ratio on the hidden bars" == out.splitlines()[-1]


@pytest.mark.parametrize(("name", "final"), [("easy", False), ("hard", True)])
def test_grade_as_json_is_the_whole_grade(say, solution, name, final) -> None:
    more = ("--final",) if final else ()
    code, out, err = say("grade", solution(reference_source(name)), "--task", name, "--json", *more)
    found = codec.loads(Grade, out)
    assert (0, "") == (code, err)
    assert (name, final, "synthetic", 9_000) == (found.task, found.final, found.source, found.bars)
    assert [rung.words for rung in task(name).rung] == [rung.words for rung in found.rungs]
    assert found.solution_seconds > 0.0


@pytest.mark.parametrize("source", [b"", b"\xff", b"x" * 300_000])
def test_a_bad_solution_is_graded_and_no_error(say, solution, source) -> None:
    code, out, err = say("grade", solution(source), "--task", "easy")
    assert (0, "") == (code, err)
    assert out.startswith("easy  0.0")


def test_a_mark_at_the_start_of_a_file_is_no_syntax_error(say, solution) -> None:
    _, out, _ = say("grade", solution(b"\xef\xbb\xbf" + reference_source("easy")), "--task", "easy")
    assert "easy  1.00" == out.splitlines()[0]


def test_what_a_solution_says_cannot_move_the_terminal(say, solution) -> None:
    _, out, _ = say("grade", solution(single("raise ValueError('\\x1b[2J\\r\\n\\x07 gone')")), "--task", "easy")
    assert not set("\x1b\r\x07") & set(out)
    _, out, _ = say("grade", solution(single("return pd.DataFrame({'\\x1b[2J': [1]})")), "--task", "easy")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (("grade", "{here}/none.py", "--task", "easy"), "none.py: No such file or directory", "name a Python file"),
        (("grade", "{here}", "--task", "easy"), "{here}: not a file", "name a Python file"),
        (("grade", "{here}/pipe", "--task", "easy"), "{here}/pipe: not a file", "name a Python file"),
        (("grade", "/dev/zero", "--task", "easy"), "/dev/zero: not a file", "name a Python file"),
        (("grade", "{here}/none.py", "--task", "extreme"), "there is no task 'extreme'", "tasks: easy, medium, hard"),
        (("grade", "{here}/none.py"), "the following arguments are required: --task", "arena.py tasks grade --help"),
        (("grade", "--task", "easy"), "the following arguments are required: FILE", "arena.py tasks grade --help"),
        (("show", "extreme"), "there is no task 'extreme'", "tasks: easy, medium, hard"),
        (("show",), "the following arguments are required: NAME", "arena.py tasks show --help"),
        (("play",), "invalid choice: 'play'", "arena.py tasks --help"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_a_hint(say, tmp_path: Path, words, error, hint) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, out, err = say(*(word.format(here=tmp_path) for word in words))
    assert (2, "") == (code, out)
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert error.format(here=tmp_path) in first
    assert second.startswith("hint: ")
    assert hint in second


@pytest.mark.parametrize(
    ("damage", "error", "hint"),
    [
        (None, "no index data in ", "bring files: setup_data.py --indices"),
        ("current", "names 'nonsense', no set of this program's", ""),
        ("synthetic/manifest.json", "manifest.json: not valid JSON", "run setup_data.py --indices again"),
        ("synthetic/shown.npy", "shown.npy: missing or damaged", "run setup_data.py --indices again"),
        ("synthetic/shown-times.npy", "shown.npy: missing or damaged", "run setup_data.py --indices again"),
    ],
)
def test_data_that_are_not_there_or_damaged_are_told_in_one_line(
    say, solution, small, tmp_path, damage, error, hint
) -> None:
    if damage:
        saved(tmp_path, *small, source="synthetic", seed=7)
        (tmp_path / "indices" / damage).write_text("nonsense")
    code, out, err = say("grade", solution(reference_source("easy")), "--task", "easy", where=tmp_path)
    assert (2, "") == (code, out)
    assert error in err.splitlines()[0]
    assert hint in err
    assert len(err.splitlines()) <= 2


def test_only_the_hard_task_needs_the_hidden_bars(say, solution, small, tmp_path) -> None:
    saved(tmp_path, *small, source="synthetic", seed=7)
    (tmp_path / "indices" / "synthetic" / "hidden.npy").unlink()
    codes = {n: say("grade", solution(reference_source(n)), "--task", n, where=tmp_path)[0] for n in ("easy", "hard")}
    assert {"easy": 0, "hard": 2} == codes


def test_the_real_program_answers_on_stdout_alone(repository: Path, data: Path, solution) -> None:
    argv = [sys.executable, "arena.py", "tasks", "grade", solution(reference_source("easy")), "--task", "easy"]
    done = subprocess.run(
        [*argv, "--data-dir", str(data), "--json"], cwd=repository, capture_output=True, text=True, timeout=120
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert 1.0 == json.loads(done.stdout)["score"]


@pytest.mark.parametrize("word", ["list", "show", "grade"])
def test_each_subcommand_explains_itself(say, word) -> None:
    code, out, _ = say(word, "--help")
    assert 0 == code
    assert "--json" in out
    assert "--data-dir" in out
