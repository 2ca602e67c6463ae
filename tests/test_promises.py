"""Every numbered promise is cited by a test, and no test cites a promise that is not there."""

from __future__ import annotations

import re
from pathlib import Path


def test_each_promise_is_cited_and_each_citation_is_a_promise(repository: Path) -> None:
    promised = set(re.findall(r"\*\*(INV-\d\d)\*\*", (repository / "docs" / "INVARIANTS.md").read_text()))
    cited = {
        number for file in (repository / "tests").rglob("*.py") for number in re.findall(r"INV-\d\d", file.read_text())
    }
    assert promised == cited
