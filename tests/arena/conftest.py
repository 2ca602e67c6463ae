"""A small race on disk for the referee's tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from referee_fixtures import data, home, referee, world  # noqa: F401
