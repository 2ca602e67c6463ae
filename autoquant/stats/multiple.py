"""What one pays for having tried often: deflated Sharpe ratios, backtest lengths, corrected p-values.

The deflated Sharpe ratio treats the attempts as a fixed set. Where each attempt edits the current champion it is
optimistic, and correlation-based N even errs the wrong way; a fresh holdout and a placebo race are what stays honest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from autoquant.stats.arrays import Floats
from autoquant.stats.maximum import expected_maximum, false_strategy_maximum
from autoquant.stats.sharpe import moments, probabilistic_sharpe

Form = Literal["exact", "false-strategy"]
"""Which expected maximum: the exact integral, or the False Strategy Theorem's closed form."""


def expected_maximum_sharpe(trials: float, variance: float, *, form: Form = "exact") -> float:
    """Sharpe ratio SR0 that the best of `trials` skill-less trials reaches on average: √V · E[max of N].

    Parameters
    ----------
    trials : number of independent trials N (may be fractional); 1 or less gives 0.
    variance : variance V of the trials' per-period Sharpe ratios, per period squared. Two pairings make sense:
        (V = 1/(T−1), N effective) or (V across the trials, N counted). Mixing them counts the relief twice.
    form : "false-strategy" is what the literature prints, 0.5 to 2.3 % above the exact one for 10 ≤ N ≤ 750.

    Returns
    -------
    Per-period Sharpe ratio. Multiply by √365 to show it per year.

    Raises
    ------
    ValueError : variance below 0 or not finite; trials NaN or above 1e30.

    References
    ----------
    Bailey & López de Prado (2014), J. Portfolio Management 40(5), eq. 1.

    >>> round(expected_maximum_sharpe(100, 0.5 / 250, form="false-strategy"), 6)
    0.113172
    """
    if not (variance >= 0.0 and math.isfinite(variance)):
        raise ValueError(f"a variance is finite and not below 0, not {variance}")
    maximum = expected_maximum(trials) if form == "exact" else false_strategy_maximum(trials)
    return math.sqrt(variance) * maximum


@dataclass(frozen=True)
class Hurdle:
    """One pairing of variance and number of trials, and what a champion makes of it."""

    trials: float
    variance: float
    """Of the trials' per-period Sharpe ratios."""
    threshold: float
    """SR0, per period."""
    probability: float
    """DSR = PSR(SR0), 0 … 1."""


@dataclass(frozen=True)
class Deflation:
    """A champion's Sharpe ratio against what the best of its trials reaches without skill."""

    sharpe: float
    """Per period."""
    observations: int
    effective: Hurdle
    """V = 1/(T−1) with the effective number of trials N*."""
    counted: Hurdle
    """V across the trials with their raw count."""

    @property
    def headline(self) -> Hurdle:
        """The pairing with the higher threshold."""
        return max(self.effective, self.counted, key=lambda hurdle: hurdle.threshold)


def deflate(
    returns: ArrayLike,
    trial_sharpes: ArrayLike,
    effective_trials: float,
    *,
    trials: int | None = None,
    form: Form = "exact",
) -> Deflation | None:
    """Deflated Sharpe ratio of a champion under both honest pairings: DSR = PSR(SR0), SR0 = √V · E[max of N].

    Parameters
    ----------
    returns : (T,) the champion's per-period returns; what is not finite is left out.
    trial_sharpes : (n,) per-period Sharpe ratios of all trials that have one, the champion among them.
    effective_trials : N*, from `trials.effective_trials`.
    trials : raw count N, where more were tried than have a Sharpe ratio; n by default.
    form : expected maximum used for both.

    Returns
    -------
    None where the champion's returns never move.

    Raises
    ------
    ValueError : trial_sharpes is not one-dimensional, empty or not finite; trials below n.

    References
    ----------
    Bailey & López de Prado (2014), J. Portfolio Management 40(5), eq. 2.

    >>> deflation = deflate([0.02, -0.01] * 100, [0.3, 0.0, -0.1, 0.05], 2.5)
    >>> round(deflation.effective.threshold, 4), round(deflation.counted.threshold, 4)
    (0.0513, 0.1752)
    >>> round(deflation.headline.probability, 4)
    0.9868
    """
    sharpes: Floats = np.asarray(trial_sharpes, dtype=np.float64)
    if sharpes.ndim != 1 or not len(sharpes) or not np.isfinite(sharpes).all():
        raise ValueError("the trials' Sharpe ratios are one row of finite numbers, at least one")
    count = len(sharpes) if trials is None else trials
    if count < len(sharpes):
        raise ValueError(f"{count} trials cannot have {len(sharpes)} Sharpe ratios")
    sample = moments(returns)
    if sample is None:
        return None

    def hurdle(number: float, variance: float) -> Hurdle:
        threshold = expected_maximum_sharpe(number, variance, form=form)
        probability = probabilistic_sharpe(
            sample.sharpe, sample.observations, skew=sample.skew, kurtosis=sample.kurtosis, benchmark=threshold
        )
        return Hurdle(trials=number, variance=variance, threshold=threshold, probability=probability)

    across = float(sharpes.var(ddof=1)) if len(sharpes) > 1 else 0.0
    return Deflation(
        sharpe=sample.sharpe,
        observations=sample.observations,
        effective=hurdle(effective_trials, 1.0 / (sample.observations - 1)),
        counted=hurdle(float(count), across),
    )


def minimum_backtest_years(trials: float, sharpe_target: float, *, form: Form = "exact") -> float:
    """Years below which the best of N skill-less trials is expected to show `sharpe_target`: (E[max of N] / target)².

    Parameters
    ----------
    trials : number of independent trials N (may be fractional).
    sharpe_target : annual Sharpe ratio, above 0.

    Returns
    -------
    Years; 0 for one trial.

    Raises
    ------
    ValueError : the target is not above 0; trials NaN or above 1e30.

    References
    ----------
    Bailey, Borwein, López de Prado & Zhu (2014), Pseudo-Mathematics and Financial Charlatanism, Notices AMS 61(5),
    eq. 6, which has 5 years for 45 trials.

    >>> round(minimum_backtest_years(45, 1.0, form="false-strategy"), 2)
    5.0
    """
    if not sharpe_target > 0.0:
        raise ValueError(f"the Sharpe ratio to reach is above 0, not {sharpe_target}")
    return (expected_maximum_sharpe(trials, 1.0, form=form) / sharpe_target) ** 2


def sidak(p_value: float, tests: int) -> float:
    """p-value of the best of independent tests: 1 − (1 − p)^m.

    Raises
    ------
    ValueError : p outside 0 … 1, or no test.

    References
    ----------
    Šidák (1967), JASA 62(318).

    >>> round(sidak(0.01, 10), 6)
    0.095618
    """
    check_p_values([p_value])
    if tests < 1:
        raise ValueError(f"the number of tests is at least 1, not {tests}")
    return -math.expm1(tests * math.log1p(-p_value)) if p_value < 1.0 else 1.0


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Step-down adjusted p-values, in the order given: max over j ≤ i of min(1, (m − j + 1)·p₍ⱼ₎).

    Rejecting what is at most α keeps the chance of any false rejection at α, whatever the dependence.

    Raises
    ------
    ValueError : a p-value outside 0 … 1.

    References
    ----------
    Holm (1979), Scand. J. Statistics 6(2).

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    check_p_values(p_values)
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = floor
    return tuple(adjusted)


def check_p_values(p_values: Sequence[float]) -> None:
    """Refuse what is no probability.

    Raises
    ------
    ValueError

    >>> check_p_values([0.0, 1.0])
    """
    for value in p_values:
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"a p-value is between 0 and 1, not {value}")
