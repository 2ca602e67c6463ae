"""How much more it would take to tell two competitors apart: months of data, or repeated races."""

from __future__ import annotations

import math

from scipy.special import ndtri

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import check_share

MONTH_DAYS = PROTOCOL.calendar.year_days / 12


def months_to_separate(
    difference: float, standard_error: float, periods: int, *, alpha: float = 0.05, power: float = 0.8, pairs: int = 1
) -> float:
    """Months of days after which a difference of this size would be found: T · ((z_α + z_power) · s / Δ)².

    An error falls with the square root of time: s_T' = s · √(T / T'). The test is two-sided at α / pairs
    (Bonferroni, what Holm asks of the first pair).

    Parameters
    ----------
    difference, standard_error : Δ and s of a Sharpe difference over `periods` days, in the same units.
    periods : days they come from.
    alpha, power : error of the test, and chance to find the difference if it is as large as it looks.
    pairs : pairs compared.

    Returns
    -------
    Months (365/12 days) in all, not beyond those there are; ∞ for no difference.

    Raises
    ------
    ValueError : error below 0, a number that is not finite, no periods or pairs, alpha or power outside (0, 1).

    >>> round(months_to_separate(0.05, 0.05, 730), 1)
    188.4
    """
    check_share("power", power)
    if periods < 1 or not (standard_error >= 0.0 and math.isfinite(standard_error) and math.isfinite(difference)):
        raise ValueError(f"{difference} ± {standard_error} over {periods} periods is no estimate")
    if difference == 0.0:
        return math.inf
    days = periods * (quantiles(alpha, power, pairs) * standard_error / difference) ** 2
    return days / MONTH_DAYS


def replicates_to_separate(
    difference: float, spread: float, *, alpha: float = 0.05, power: float = 0.8, pairs: int = 1
) -> float:
    """Races per competitor after which a difference of mean results would be found: ⌈2 · ((z_α + z_power) · σ / Δ)²⌉.

    Parameters
    ----------
    difference : Δ of the two competitors' mean result (champion score, say).
    spread : σ between repeated races of one competitor, the same for both.
    alpha, power, pairs : as for `months_to_separate`.

    Returns
    -------
    A whole number, at least 2 (of one race each nothing is known of the spread); ∞ for no difference.

    Raises
    ------
    ValueError : spread below 0, a number that is not finite, no pairs, alpha or power outside (0, 1).

    References
    ----------
    Cohen (1988), Statistical Power Analysis, section 2.4, in its normal approximation.

    >>> replicates_to_separate(0.3, 0.3)
    16
    """
    check_share("power", power)
    if not (spread >= 0.0 and math.isfinite(spread) and math.isfinite(difference)):
        raise ValueError(f"{difference} with a spread of {spread} is no estimate")
    if difference == 0.0:
        return math.inf
    return max(2, math.ceil(2.0 * (quantiles(alpha, power, pairs) * spread / difference) ** 2))


def quantiles(alpha: float, power: float, pairs: int) -> float:
    """Φ⁻¹(1 − α/(2·pairs)) + Φ⁻¹(power).

    Raises
    ------
    ValueError : no pairs, or alpha outside (0, 1).

    >>> round(quantiles(0.05, 0.8, 1), 6)
    2.801585
    """
    check_share("alpha", alpha)
    if pairs < 1:
        raise ValueError(f"the number of pairs is at least 1, not {pairs}")
    return float(-ndtri(alpha / (2.0 * pairs)) + ndtri(power))
