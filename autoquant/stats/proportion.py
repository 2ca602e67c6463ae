"""How sure a share is, from so many trials."""

from __future__ import annotations

import math

from scipy.special import ndtri

from autoquant.stats.arrays import check_share


def wilson(successes: int, trials: int, *, coverage: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a share: the p that the observed k/n does not reject.

    With p̂ = k/n and z = Φ⁻¹(½ + coverage/2):

        (p̂ + z²/2n ± z·√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n)

    It stays inside [0, 1] and keeps its coverage for few trials and for k = 0, where p̂ ± z·√(p̂(1 − p̂)/n) has no width.
    No correction for continuity. It takes the trials as alike and independent.

    Parameters
    ----------
    successes : k, 0 … n.
    trials : n.
    coverage : two-sided, between 0 and 1.

    Returns
    -------
    Lower and upper end; None without a trial.

    Raises
    ------
    ValueError : k outside 0 … n, or coverage outside (0, 1).

    References
    ----------
    Wilson (1927), JASA 22(158), 209–212; Newcombe (1998), Statistics in Medicine 17(8), 857–872, method 3.

    >>> [round(end, 4) for end in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    check_share("coverage", coverage)
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if trials == 0:
        return None
    z = float(ndtri(0.5 + coverage / 2.0))
    share, weight = successes / trials, z * z / trials
    centre = share + weight / 2.0
    half = z * math.sqrt(share * (1.0 - share) / trials + weight / (4.0 * trials))
    low, high = (centre - half) / (1.0 + weight), (centre + half) / (1.0 + weight)
    # the ends at k = 0 and k = n are 0 and 1 exactly; rounding must not say otherwise
    return (0.0 if successes == 0 else low, 1.0 if successes == trials else high)
