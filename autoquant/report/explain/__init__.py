"""The explainer: how the benchmark works, drawn for somebody who has never seen it.

    uv run python -m autoquant.report.explain --out docs/how-autoquant-works.html

Every number in it comes from the protocol or from the formulas of the statistics room; curves that show no measurement
say so. A test holds the committed page equal to what is made here.
"""
