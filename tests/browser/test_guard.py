"""The tests of the page can fail: a page that misbehaves is caught."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_stand import PHONE, Stand, overflow

POLICY = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<img src="https://example.invalid/x.png" alt="">', "asked for something"),
        ('<img src="gone.png" alt="">', "asked for something"),
        (f'{POLICY}<p style="color: red">styled in place</p>', "complained"),
        (f"{POLICY}<script>1</script>", "complained"),
        ("<script>setTimeout(() => { throw new Error('x'); })</script>", "complained"),
        ("<script>console.error('x')</script>", "complained"),
    ],
)
def test_a_page_that_asks_or_complains_is_caught(stand: Stand, tmp_path: Path, body: str, complaint: str):
    file = tmp_path / "bad.html"
    file.write_text(f"<!doctype html><title>x</title>{body}")
    with pytest.raises(AssertionError, match=complaint), stand.open(file) as page:
        page.wait_for_timeout(50)


def test_what_is_too_wide_for_a_phone_is_named(stand: Stand, tmp_path: Path):
    file = tmp_path / "wide.html"
    file.write_text("<!doctype html><title>x</title><pre class=long>" + "x" * 200)
    with stand.open(file, viewport=PHONE) as page:
        assert ["pre.long: " + "x" * 40] == [line for line in overflow(page) if line.startswith("pre")]
