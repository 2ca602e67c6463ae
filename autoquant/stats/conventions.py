"""What each figure is, in words to print beside it: name, convention, source, and whether an adaptive race fools it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Convention:
    """One statistic's label for a page."""

    name: str
    convention: str
    """How it is computed, with the version where there are several."""
    source: str
    adaptive: bool
    """Whether it stays honest when each attempt edits the champion; False: "non-adaptive, optimistic"."""

    @property
    def caveat(self) -> str:
        """Words to print with the figure; empty where none are needed.

        >>> CONVENTIONS["dsr"].caveat
        'non-adaptive, optimistic'
        """
        return "" if self.adaptive else "non-adaptive, optimistic"


CONVENTIONS = MappingProxyType(
    {
        "sharpe": Convention(
            "Sharpe ratio",
            "mean / std (ddof 1) of daily returns; shown per year, × √365",
            "Sharpe (1994)",
            False,
        ),
        "psr": Convention(
            "Probabilistic Sharpe ratio",
            "2012 version: variance at the observed Sharpe ratio, biased moments",
            "Bailey & López de Prado (2012)",
            False,
        ),
        "min_trl": Convention(
            "Minimum track record length",
            "observations at which PSR reaches 95 %, not rounded",
            "Bailey & López de Prado (2012)",
            False,
        ),
        "expected_maximum": Convention(
            "Expected maximum",
            "exact integral over N independent normals; 0 for one trial",
            "David & Nagaraja (2003)",
            False,
        ),
        "false_strategy": Convention(
            "False Strategy Theorem",
            "closed form of the expected maximum, 0.5 to 2.3 % above the exact one for 10 to 750 trials",
            "Bailey & López de Prado (2014)",
            False,
        ),
        "dsr": Convention(
            "Deflated Sharpe ratio",
            "PSR against √V · E[max of N], for (V = 1/(T−1), N effective) and (V across trials, N counted); "
            "the higher threshold leads",
            "Bailey & López de Prado (2014)",
            False,
        ),
        "effective_trials": Convention(
            "Effective number of trials N*",
            "number of independent normals whose expected maximum is that of N(0, Ĉ), Ĉ the trials' correlation",
            "simulation",
            False,
        ),
        "min_btl": Convention(
            "Minimum backtest length",
            "(E[max of N] / target)² years",
            "Bailey, Borwein, López de Prado & Zhu (2014)",
            False,
        ),
        "pbo": Convention(
            "Probability of backtest overfitting",
            "CSCV, 16 blocks, winner by the race's score with each block as a fold; a band, never a gate",
            "Bailey, Borwein, López de Prado & Zhu (2017)",
            False,
        ),
        "spa": Convention(
            "Superior predictive ability",
            "SPA_c, studentised by the bootstrap sd, stationary bootstrap, p = (1 + #) / (B + 1)",
            "Hansen (2005)",
            False,
        ),
        "stepm": Convention(
            "Stepwise multiple testing",
            "studentised step-down, adjusted p-values, stationary bootstrap",
            "Romano & Wolf (2005)",
            False,
        ),
        "difference": Convention(
            "Sharpe difference",
            "studentised circular block bootstrap, prewhitened Parzen HAC error, Holm over pairs",
            "Ledoit & Wolf (2008)",
            False,
        ),
        "best": Convention(
            "Probability of being best",
            "share of paired stationary bootstrap samples, inside each fold, with the highest score",
            "Politis & Romano (1994)",
            False,
        ),
        "placebo": Convention(
            "Placebo p-value",
            "(1 + placebos at or above the agent) / (runs + 1)",
            "Phipson & Smyth (2010)",
            True,
        ),
        "lockbox": Convention(
            "Lockbox",
            "one-sided PSR on a year that no attempt has seen",
            "Bailey & López de Prado (2012)",
            True,
        ),
    }
)
"""By the name a report asks for."""
