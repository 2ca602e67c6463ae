"""The reference matrix of the design's vectors, and seeded panels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reference_matrix() -> Floats:
    """160×10 normals × 0.01: x ← (1103515245·x + 12345) mod 2³¹ from 12345, Box-Muller cosine branch on pairs."""
    state, uniforms = 12345, []
    for _ in range(2 * 160 * 10):
        state = (1103515245 * state + 12345) % 2**31
        uniforms.append((state + 0.5) / 2**31)
    first, second = np.array(uniforms).reshape(-1, 2).T
    normals = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
    return np.asarray(normals.reshape(160, 10) * 0.01)


def noise(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 0.01, shape)


def autoregressive(seed: int, periods: int, slope: float) -> Floats:
    values = np.random.default_rng(seed).normal(size=periods)
    for day in range(1, periods):
        values[day] += slope * values[day - 1]
    return values
