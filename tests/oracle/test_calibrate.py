from __future__ import annotations

import numpy as np
import pytest
from engine_markets import random_market

from autoquant import codec
from autoquant.errors import ConfigError, DataError
from autoquant.executor import LocalPool
from autoquant.oracle.calibrate import NoiseFloor, calibrate, jitter, stationary_indices
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.records import Digests

DIGESTS = Digests(protocol="p", code="c", data="d", strategy="s")
NAN = np.nan


@pytest.fixture(scope="module")
def case():
    panel = random_market(77, assets=4, days=190, wild=0.01)
    start = int(panel.times[0]) + 40 * DAY_MS
    windows = [
        Window(n + 1, start, start, start + n * 70 * DAY_MS, start + n * 70 * DAY_MS + 65 * DAY_MS) for n in range(2)
    ]
    steady = np.tile([0.3, -0.2, 0.2, -0.25], (len(panel.times), 1))
    steady[np.arange(len(steady)) % 7 != 0] = NAN
    return panel, windows, [steady, steady]


def run(case, jobs, kind="threads", samples=45, seed=5, on_progress=None):
    panel, windows, weights = case
    with LocalPool(kind, jobs) as pool:
        return calibrate(
            panel,
            windows,
            weights,
            samples=samples,
            seed=seed,
            digests=DIGESTS,
            executor=pool,
            on_progress=on_progress,
        )


def test_the_floor_is_the_same_with_any_number_of_workers(case):
    one = run(case, 1)
    assert one == run(case, 2)
    assert one.digest == run(case, 3).digest
    assert one != run(case, 1, seed=6)
    assert 0 < one.value < 5
    assert 0.9 < one.mean_correlation < 1


def test_processes_give_the_threads_number(case):
    assert run(case, 1, samples=21) == run(case, 2, kind="processes", samples=21)


def test_more_samples_extend_the_same_sequence(case):
    # 20 and 21 samples share the first 20: the quantiles can differ by one order statistic at most
    small, large = run(case, 1, samples=20), run(case, 1, samples=21)
    assert small.value == pytest.approx(large.value, rel=0.5)
    assert small.seed_score == large.seed_score


def test_progress_counts_samples(case):
    seen = []
    run(case, 1, samples=45, on_progress=lambda done, total: seen.append((done, total)))
    assert [(20, 45), (40, 45), (45, 45)] == seen


def test_the_record_survives_its_file(case):
    floor = run(case, 1, samples=3)
    assert floor == codec.loads(NoiseFloor, codec.dumps(floor), "calibration.json")
    with pytest.raises(ConfigError, match="unknown key"):
        codec.loads(NoiseFloor, codec.dumps(floor).replace('"value"', '"valeu"'), "calibration.json")


def test_no_sample_is_no_calibration(case):
    with pytest.raises(DataError, match="at least one"):
        run(case, 1, samples=0)


def test_a_row_s_gross_is_capped_at_one_after_the_jitter():
    decisions = np.array([[0.5, -0.5], [0.4, 0.2]])[:, :, None]
    factors = np.array([1.5, 0.5])[None, :, None, None] * np.ones((2, 1, 1, 1))
    moved = jitter(decisions, factors)[:, :, 0, 0]
    assert [0.75, -0.25, 0.6, 0.1] == pytest.approx(moved.ravel().tolist())
    moved = jitter(decisions, factors * 2)[:, :, 0, 0]
    assert [0.75, -0.25, 1.2 / 1.4, 0.2 / 1.4] == pytest.approx(moved.ravel().tolist())


def test_a_weight_held_through_nan_counts_in_the_row_cap():
    decisions = np.array([[0.9, NAN], [NAN, 0.6]])[:, :, None]
    moved = jitter(decisions, np.ones((2, 2, 1, 1)))[:, :, 0, 0]
    assert 0.9 == moved[0, 0]
    assert np.isnan(moved[1, 0])
    assert 0.6 / 1.5 == pytest.approx(moved[1, 1])


def test_bootstrap_blocks_are_geometric_circular_and_uniform():
    generator = np.random.Generator(np.random.PCG64(1))
    index = stationary_indices(generator, 50, 400, 10.0)
    assert (400, 50) == index.shape
    assert 0 <= index.min() <= index.max() < 400
    broken = (np.diff(index, axis=0) - 1) % 400 != 0
    assert 0.1 == pytest.approx(broken.mean(), abs=0.01)
    assert 199.5 == pytest.approx(index.mean(), abs=12)
    wraps = (np.diff(index, axis=0) == -399).sum()
    assert wraps > 0
