"""What `evaluate.py` does: score a strategy in place, or calibrate the noise floor. Prints the answer."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoquant import cli, codec, files, scale
from autoquant.errors import ConfigError, DataError, UserError
from autoquant.executor import LocalPool
from autoquant.market import data_directory, load_manifest, load_panel
from autoquant.oracle.calibrate import CALIBRATION_SEED, NoiseFloor
from autoquant.oracle.calibrate import calibrate as measure_floor
from autoquant.oracle.folds import Window, train_windows, valid_windows
from autoquant.oracle.judge import Judge, Pins
from autoquant.oracle.records import Evaluation, Judgement, Outcome, Timings
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION
from autoquant.sandbox import strategy_seal

CALIBRATION_FILE = "calibration.json"
SCORE_FILE = "score.json"
PROTECTED_LIST = "protected.sha256"
_LIMITS = PROTOCOL.limits
HINTS = {
    "SyntaxError": "python -m py_compile FILE shows the place",
    "import": "numpy, pandas, scipy and the pure part of the standard library; one target_weights(panel, train_end)",
    "output": "return a DataFrame of finite weights, bars × assets, a row per bar, the same for the same inputs",
    "causality": "row t may use rows ≤ t only: look for shift(-n), centred windows, bfill, whole-sample statistics",
    "CpuLimit": f"{_LIMITS.cpu_seconds:.0f} s of CPU per call: replace loops over bars by array operations",
    "MemoryLimit": f"{_LIMITS.memory_bytes >> 20:,} MiB per call: keep fewer copies of the panel",
}
"""What to do, by kind of fault or by failed gate."""
CRASH_HINT = "mend that line; a bar is NaN where its contract does not live"


@dataclass(frozen=True)
class ScoreAnswer:
    """`evaluate.py --json`: everything, daily returns included; nothing here is for an agent in a race."""

    strategy: str
    source: str
    evaluation: Evaluation
    causality: str
    timings: Timings
    schema_version: int = SCHEMA_VERSION


def code_digest(home: Path = cli.HOME) -> str:
    """Digest of the list of protected digests: one name for the code that judged."""
    return files.sha256_file(cli.require_file(home / PROTECTED_LIST, "this checkout is incomplete: clone it again"))


def open_judge(data_root: Path, split: str, *, jobs: int | None, reveal: bool = True) -> tuple[Judge, str]:
    """A judge outside a race, and the name of its data's source.

    Raises
    ------
    DataError : no data were set up, they differ from the manifest, or VALID is not here (an agent's worktree holds
        TRAIN only).
    """
    folder = data_directory(data_root)
    manifest = load_manifest(folder)
    panel = load_panel(folder, "train" if split == "train" else "valid")
    pin = manifest.splits[split]
    if panel.digest != pin.digest:
        raise DataError(
            f"{folder / split}.npy: content differs from the manifest's digest",
            "setup_data.py --verify says what is left; remove that directory by hand and set the data up again",
        )
    pins = Pins(PROTOCOL.digest, code_digest(), pin.digest)
    windows: Sequence[Window] = train_windows() if split == "train" else valid_windows()
    judge = Judge(panel, windows, pins=pins, jobs=jobs, reveal=reveal, split=split, seal=strategy_seal())
    return judge, manifest.source


def evaluate(
    strategy: Path,
    data_root: Path,
    *,
    split: str,
    jobs: int | None,
    as_json: bool,
    score_file: Callable[[Evaluation], object],
) -> int:
    """Score `strategy` outside a race and print everything there is to know. Exit 3 when it broke a rule.

    Parameters
    ----------
    score_file : what score.json says of an evaluation; written on VALID, and on TRAIN into scratch/ where that is.
    """
    source = read_strategy(strategy)
    judge, market = open_judge(data_root, split, jobs=jobs)
    with judge:
        judgement = judge.screen(source, attempt=0)
    answer = ScoreAnswer(strategy.name, market, judgement.evaluation, judgement.causality_detail, judgement.timings)
    scratch = cli.HOME / "scratch"
    if split == "train" and scratch.is_dir():
        written = scratch / SCORE_FILE
    elif split == "valid":
        written = cli.HOME / SCORE_FILE
    else:
        written = None
    if written is not None:
        files.atomic_write(written, codec.dumps(score_file(judgement.evaluation), indent=1) + "\n")
    if as_json:
        cli.emit_json(answer)
    else:
        print("\n".join(describe(strategy.name, market, judgement)))
    fault = judgement.evaluation.fault
    if fault is None:
        return 0
    where = strategy.name if fault.line is None else f"{strategy.name}:{fault.line}"
    words = without_place(cli.one_line(fault.message or judgement.evaluation.outcome))
    cli.note(f"error: {where}: {fault.kind}: {words}")
    cli.note(f"hint: {HINTS.get(fault.kind) or HINTS.get(judgement.evaluation.failed_gate or '', CRASH_HINT)}")
    return 3


def calibrate(
    strategy: Path,
    data_root: Path,
    *,
    samples: int,
    jobs: int | None,
    as_json: bool,
    scheduler: scale.Scheduler | None = None,
) -> int:
    """Measure the noise floor with the seed, store it beside the data, and print it."""
    floor, path = calibrate_data(read_strategy(strategy), data_root, samples=samples, jobs=jobs, scheduler=scheduler)
    if as_json:
        cli.emit_json(floor)
        return 0
    print(f"seed score   {floor.seed_score:.4f}")
    print(
        f"noise floor  {floor.value:.4f}   ({floor.samples:,} samples, return correlation {floor.mean_correlation:.3f})"
    )
    print(f"stored       {path.parent.name}/{path.name}")
    if floor.samples < PROTOCOL.calibration.samples:
        cli.note(
            f"note: {floor.samples} samples are for trying out; a race that is published takes "
            f"{PROTOCOL.calibration.samples:,}"
        )
    return 0


def calibrate_data(
    source: bytes, data_root: Path, *, samples: int, jobs: int | None, scheduler: scale.Scheduler | None = None
) -> tuple[NoiseFloor, Path]:
    """Measure the noise floor on the current data and store it.

    Parameters
    ----------
    scheduler : whose workers take the samples; the seed itself runs here.

    Raises
    ------
    AgentFault : the seed gives no usable answer.
    """
    folder = data_directory(data_root)
    judge, _ = open_judge(data_root, "valid", jobs=jobs)
    pool = LocalPool("threads", jobs) if scheduler is None else scale.open_pool(scheduler)
    with judge, pool as workers:  # connected before the seed runs: a wrong address costs nobody a minute
        runs = judge.weights(source)
        rows = len(judge.panel)
        with cli.progress("calibrating") as update:
            floor = measure_floor(
                judge.panel,
                judge.windows,
                [run.on_panel(rows) for run in runs],
                samples=samples,
                seed=CALIBRATION_SEED,
                digests=judge.pins.of(source),
                executor=workers,
                on_progress=update,
            )
    path = folder / CALIBRATION_FILE
    files.atomic_write(path, codec.dumps(floor, indent=1) + "\n")
    return floor, path


def load_calibration(folder: Path) -> NoiseFloor:
    """The stored noise floor of a data directory.

    Raises
    ------
    DataError : there is none, it cannot be read, or it was measured for another protocol or other data.
    """
    path = folder / CALIBRATION_FILE
    hint = "run: uv run evaluate.py --calibrate"
    if not path.is_file():
        raise DataError(f"{folder.name}/{path.name}: these data are not calibrated", hint)
    try:
        floor = codec.loads(NoiseFloor, path.read_bytes(), f"{folder.name}/{path.name}")
    except ConfigError as error:
        raise DataError(error.message, hint) from None
    if floor.digests.protocol != PROTOCOL.digest:
        raise DataError(f"{folder.name}/{path.name}: measured under another protocol", hint)
    if floor.digests.data != load_manifest(folder).splits["valid"].digest:
        raise DataError(f"{folder.name}/{path.name}: measured on other data", hint)
    return floor


def read_strategy(path: Path) -> bytes:
    """Bytes of a strategy file; one byte more than is allowed at most, which the import gate then refuses.

    Raises
    ------
    UserError : not a plain file that can be read.
    """
    hint = "name a strategy file, for example strategy.py"
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{path}: not a file", hint)
        with path.open("rb") as file:
            return file.read(_LIMITS.strategy_bytes + 1)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", hint) from None


def without_place(text: str) -> str:
    """A fault's text without the file and line it begins with, for where those were said already.

    >>> without_place("strategy.py line 3: imports os"), without_place("strategy.py: 702 lines"), without_place("3: x")
    ('imports os', '702 lines', '3: x')
    """
    return re.sub(r"^strategy\.py(?: line \d+)?: ", "", text)


def describe(name: str, market: str, judgement: Judgement) -> list[str]:
    """The answer for a terminal, line by line."""
    evaluation, spent = judgement.evaluation, judgement.timings
    lines = [f"{name}   {evaluation.split}, {market}"]
    if market == "synthetic":
        lines.append("synthetic data: this is not a market result")
    if evaluation.score is not None:
        double = "n/a" if evaluation.score_double_cost is None else f"{evaluation.score_double_cost:.4f}"
        delayed = "n/a" if evaluation.score_delayed is None else f"{evaluation.score_delayed:.4f}"
        lines.append(f"score  {evaluation.score:.4f}   2× cost {double} · one bar later {delayed}")
        lines.append("fold  start         sharpe  drawdown  turnover  trades  gross    vol      costs  funding")
        for number, fold in enumerate(evaluation.folds, start=1):
            costs = fold.fee + fold.spread + fold.impact
            lines.append(
                f"{number:>4}  {fold.start[:10]}  {fold.sharpe:>8.4f}  {fold.max_drawdown:>8.1%}  {fold.turnover:>8.1f}"
                f"  {fold.trades:>6}  {fold.mean_gross:>5.2f}  {fold.volatility:>5.1%}"
                f"  {costs:>8.2%} {fold.funding:>8.2%}"
            )
    for gate in evaluation.gates:
        if not gate.passed:
            lines.append(f"gate   {gate.name} fails" + (f": {gate.detail}" if gate.detail else ""))
    if evaluation.outcome is Outcome.SCORED:
        lines.append("gates  all pass")
    lines.append(
        f"time   strategy {spent.strategy:.2f} s · accounting {spent.accounting * 1000:.0f} ms · "
        f"causality {spent.causality:.2f} s · all {spent.total:.2f} s"
    )
    return lines
