"""One archive over HTTP: what is tried again, for how long, and what the last line says."""

from __future__ import annotations

import datetime as dt
import random
import threading
from pathlib import Path

import pytest
from small_archive import Site

from autoquant.errors import DataError, InfrastructureFault
from autoquant.files import sha256_bytes
from autoquant.market.fetch import Fetcher, Patience, Stopped

BODY = b"an archive"
DIGEST = sha256_bytes(BODY)


class FakeClock:
    def __init__(self) -> None:
        self.slept: list[float] = []
        self.time = 0.0

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.UTC)

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Half(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def served(tmp_path: Path):
    (tmp_path / "a.zip").write_bytes(BODY)
    (tmp_path / "a.zip.CHECKSUM").write_text(f"{DIGEST}  a.zip\n")
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.fixture
def fetcher(served: Site, clock: FakeClock) -> Fetcher:
    return Fetcher(served.url + "/", clock=clock, jitter=Half())


def test_checksum_then_archive(fetcher: Fetcher):
    assert DIGEST == fetcher.checksum("a.zip")
    assert BODY == fetcher.archive("a.zip", DIGEST)


def test_404_of_a_checksum_is_an_answer(fetcher: Fetcher, clock: FakeClock):
    assert None is fetcher.checksum("b.zip")
    assert [] == clock.slept


def test_503_is_tried_again_with_doubling_waits(fetcher: Fetcher, served: Site, clock: FakeClock):
    served.script["a.zip"] = [(503, {}, b""), (503, {}, b""), (503, {}, b""), (200, {}, BODY)]
    assert BODY == fetcher.archive("a.zip", DIGEST)
    assert 0.5 + 1.0 + 2.0 == sum(clock.slept)


def test_a_long_error_page_is_no_404_and_is_not_read(fetcher: Fetcher, served: Site):
    served.script["a.zip.CHECKSUM"] = [(503, {}, b"x" * 100_000), (200, {}, f"{DIGEST}  a.zip\n".encode())]
    assert DIGEST == fetcher.checksum("a.zip")


def test_a_server_that_never_recovers_ends_with_url_and_reason(fetcher: Fetcher, served: Site, clock: FakeClock):
    served.script["a.zip"] = [(500, {}, b"")]
    with pytest.raises(InfrastructureFault, match=rf"^{served.url}/a.zip: answers 500 \(6 tries\)$"):
        fetcher.archive("a.zip", DIGEST)
    assert 6 == served.requests.count("a.zip")
    assert 0.5 + 1 + 2 + 4 + 8 == sum(clock.slept)


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ("7", 7.0),
        ("86400", 60.0),
        ("Thu, 01 Jan 2026 12:00:09 GMT", 9.0),
        ("Thu, 01 Jan 2025 12:00:09 GMT", 0.5),
        ("soon", 0.5),
    ],
)
def test_retry_after_is_honoured_up_to_a_ceiling(
    fetcher: Fetcher, served: Site, clock: FakeClock, header: str, waited: float
):
    served.script["a.zip"] = [(429, {"Retry-After": header}, b""), (200, {}, BODY)]
    assert BODY == fetcher.archive("a.zip", DIGEST)
    assert waited == sum(clock.slept)


def test_a_truncated_body_is_fetched_again(fetcher: Fetcher, served: Site):
    served.script["a.zip"] = [(200, {"Content-Length": str(len(BODY))}, BODY[:4]), (200, {}, BODY)]
    assert BODY == fetcher.archive("a.zip", DIGEST)


def test_wrong_bytes_are_asked_for_three_times(fetcher: Fetcher, served: Site):
    served.script["a.zip"] = [(200, {}, b"others")]
    with pytest.raises(InfrastructureFault, match=r"a\.zip: differs from its checksum \(3 tries\)"):
        fetcher.archive("a.zip", DIGEST)


def test_html_in_place_of_a_zip_is_called_that(fetcher: Fetcher, served: Site):
    served.script["a.zip"] = [(200, {}, b"\n<html>no</html>")]
    with pytest.raises(InfrastructureFault, match=r"a\.zip: is an HTML page"):
        fetcher.archive("a.zip", DIGEST)


def test_an_archive_that_is_gone_is_no_matter_of_patience(fetcher: Fetcher, served: Site):
    served.script["a.zip"] = [(404, {}, b"")]
    with pytest.raises(DataError, match=r"a\.zip: 404"):
        fetcher.archive("a.zip", DIGEST)
    assert 1 == len(served.requests)


def test_403_is_not_tried_again(fetcher: Fetcher, served: Site):
    served.script["a.zip"] = [(403, {}, b"")]
    with pytest.raises(InfrastructureFault, match=r"a\.zip: answers 403"):
        fetcher.archive("a.zip", DIGEST)
    assert 1 == len(served.requests)


def test_a_file_without_end_is_cut_off(served: Site, clock: FakeClock):
    fetcher = Fetcher(served.url, clock=clock, jitter=Half(), patience=Patience(max_bytes=1000))
    served.script["a.zip"] = [(200, {}, b"x" * 5000)]
    with pytest.raises(InfrastructureFault, match=r"a\.zip: is larger than 1000 bytes"):
        fetcher.archive("a.zip", DIGEST)


def test_a_silent_server_times_out(served: Site, clock: FakeClock):
    patience = Patience(read_timeout=0.1, attempts=2)
    fetcher = Fetcher(served.url, clock=clock, jitter=Half(), patience=patience)
    served.script["a.zip"] = [(200, {"Content-Length": "99"}, b"")]
    hold = threading.Event()
    served.server.finish_request = lambda request, address: hold.wait(3)  # accepts, never answers
    try:
        with pytest.raises(InfrastructureFault, match=r"a\.zip: timed out \(2 tries\)"):
            fetcher.archive("a.zip", DIGEST)
    finally:
        hold.set()


def test_a_stopped_fetcher_gives_up_at_once(fetcher: Fetcher, served: Site):
    fetcher.stop()
    with pytest.raises(Stopped):
        fetcher.checksum("a.zip")
    assert [] == served.requests


@pytest.mark.parametrize("url", ["ftp://host", "data.example", "http://", "file:///tmp"])
def test_a_base_url_that_is_no_http_address_is_refused(url: str):
    with pytest.raises(DataError, match="is not an http address"):
        Fetcher(url)
