"""Look-ahead read off the text: every idiom with its line, and no alarm over honest code."""

from __future__ import annotations

import pytest

from autoquant.tasks.scan import scan
from autoquant.tasks.truth import reference_source

LEAKS = {
    "x.shift(-1)": "shift(-1)",
    "df['Close'].shift(periods=-5)": "shift(-5)",
    "x.shift(-1, freq='min')": "shift(-1)",
    "x.groupby(day).shift(-1)": "shift(-1)",
    "x.diff(-3)": "diff(-3)",
    "x.diff(periods=-1)": "diff(-1)",
    "x.pct_change(-5)": "pct_change(-5)",
    "np.roll(x, -1)": "roll(-1)",
    "numpy.roll(x, shift=-2)": "roll(-2)",
    "x.rolling(5, center=True).mean()": "rolling(center=True)",
    "x.rolling(5, 1, True).mean()": "rolling(center=True)",
    "pd.api.indexers.FixedForwardWindowIndexer(window_size=5)": "FixedForwardWindowIndexer()",
    "x.bfill()": "bfill()",
    "x.ffill().bfill()": "bfill()",
    "x.backfill()": "backfill()",
    "x.fillna(method='bfill')": 'fillna(method="bfill")',
    "x.reindex(times, method='backfill')": 'reindex(method="backfill")',
    "x.asfreq('min', method='bfill')": 'asfreq(method="bfill")',
    "x.interpolate()": "interpolate()",
    "x.interpolate(method='linear', limit_direction='forward')": "interpolate()",
    "pd.merge_asof(a, b, on='t', direction='forward')": 'merge_asof(…="forward")',
    "pd.merge_asof(a, b, on='t', direction='nearest')": 'merge_asof(…="nearest")',
    "x.reindex(times, method='nearest')": 'reindex(…="nearest")',
    "x.index.get_indexer(times, method='nearest')": 'get_indexer(…="nearest")',
    "savgol_filter(x, 21, 2)": "savgol_filter()",
    "signal.filtfilt(b, a, x)": "filtfilt()",
    "signal.sosfiltfilt(sos, x)": "sosfiltfilt()",
    "signal.medfilt(x, 5)": "medfilt()",
    "ndimage.gaussian_filter1d(x, 3)": "gaussian_filter1d()",
    "ndimage.uniform_filter1d(x, 5)": "uniform_filter1d()",
    "ndimage.median_filter(x, 5)": "median_filter()",
    "np.gradient(x)": "gradient()",
    "np.convolve(x, k, 'same')": 'convolve(mode="same")',
    "np.convolve(x, k, mode='same')": 'convolve(mode="same")',
    "signal.fftconvolve(x, k, mode='same')": 'fftconvolve(mode="same")',
    "np.correlate(x, k, 'same')": 'correlate(mode="same")',
    "x[::-1].cumsum()[::-1]": "[::-1] … cumsum()",
    "x.iloc[::-1].rolling(5).mean()": "[::-1] … rolling()",
    "np.cumsum(x[::-1])[::-1]": "[::-1] … cumsum()",
    "np.maximum.accumulate(x[::-1])": "[::-1] … accumulate()",
    "x[::-1].values.cumsum()": "[::-1] … cumsum()",
}

HONEST = {
    "a cross in force from the next bar": """
fast, slow = close.rolling(20).mean(), close.rolling(50).mean()
position = np.sign(fast - slow).shift(1).fillna(0)
""",
    "positive shifts": """
a = x.shift(1), x.shift(), x.shift(periods=3), x.shift(n)
b = x.diff(), x.diff(5), x.pct_change(10)
""",
    "trailing windows": "a = x.rolling(20, center=False).std(), x.rolling(20, min_periods=5).quantile(0.9)",
    "expanding and exponential": "a = x.expanding(60).mean(), x.ewm(span=30, adjust=False).mean()",
    "forward fills": """
a = x.ffill(), x.reindex(times, method='ffill'), x.interpolate(method='pad')
b = x.fillna(0.0), x.fillna(value=0)
""",
    "a join to what was known": "a = pd.merge_asof(a, b, on='t'), pd.merge_asof(a, b, on='t', direction='backward')",
    "rows for a reader, last first": """
print(trades[::-1].head())
for row in rows[::-1]:
    pass
""",
    "kernel turned round": """
weights = (0.9 ** np.arange(20))[::-1]
y = np.convolve(x, weights[::-1])[: len(x)]
""",
    "rolled on": """
a = np.roll(x, 1)
a[0] = 0.0
""",
    "a causal filter": """
y = signal.lfilter([0.1], [1, -0.9], x)
z = signal.convolve(x, k)[: len(x)]
""",
    "scipy's interpolation": """
from scipy import interpolate
f = interpolate.interp1d([0, 1], [0, 1])
y = np.interp(x, a, b)
""",
    "negative places and steps": """
last, prior, even = x[-1], x[:-1], x[::2]
window = x[i - 60 : i + 1]
y = x * -1
""",
    "a state machine": """
for i in range(60, len(z)):
    if side and abs(z[i]) < 0.5:
        side, counter = 0, 30
    rows.append((i + 1, side))
""",
    "days and sessions": """
day = df.index.normalize()
opened = close.groupby(day).transform('first')
number = close.groupby(day).cumcount()
""",
    "ranks and quantiles of a window": """
a = x.rolling(375).rank(pct=True)
b = x.rolling(375).quantile(0.8, interpolation='nearest')
""",
    "own names that sound alike": """
def roll(x, n):
    return x
roll(x, -1)
book.replace(method='bfill')
moved = shift(x, -1)
""",
    "words in texts": "note = 'never use shift(-1), bfill() or center=True'  # nor [::-1].cumsum()",
    "numpy's own diff": """
d = np.diff(x, 1)
e = np.diff(x, axis=-1)
""",
    "sorted the other way": "best = np.argsort(score)[::-1][:5]",
}


@pytest.mark.parametrize("idiom", LEAKS)
def test_each_idiom_that_looks_ahead_is_named_with_its_line(idiom) -> None:
    source = f"import numpy as np\n\n\ndef generate_trades(df):\n    x = df['Close']\n    y = {idiom}\n    return y\n"
    assert [(6, LEAKS[idiom])] == [(one.line, one.what) for one in scan(source.encode())]


@pytest.mark.parametrize("idiom", HONEST)
def test_honest_code_raises_no_alarm(idiom) -> None:
    assert () == scan(HONEST[idiom].encode())


@pytest.mark.parametrize("name", ["easy", "medium", "hard"])
def test_the_references_raise_no_alarm(name) -> None:
    assert () == scan(reference_source(name))


def test_every_finding_says_why() -> None:
    assert all(one.why for idiom in LEAKS for one in scan(idiom.encode()))


def test_findings_come_in_order_of_lines_and_each_once() -> None:
    source = b"b = y.bfill()\na = x.shift(-1) + x.shift(-1)\nc = z.diff(-2)\n"
    assert [(1, "bfill()"), (2, "shift(-1)"), (3, "diff(-2)")] == [(one.line, one.what) for one in scan(source)]


@pytest.mark.parametrize(
    "source",
    [b"def (", b"x = '\x00'", b"\xff\xfe", b"(" * 100_000, b""],
    ids=["syntax", "null", "bytes", "deep", "empty"],
)
def test_what_is_no_python_has_no_findings(source) -> None:
    assert () == scan(source)


def test_a_text_is_read_as_it_runs_whatever_its_coding_line_says() -> None:
    assert 1 == len(scan(b"# coding: nonsense\nx = y.shift(-1)\n"))


def test_a_doubtful_escape_is_no_reason_to_miss_the_rest() -> None:
    assert 1 == len(scan(b"pattern = '\\d'\nx = y.shift(-1)\n"))
