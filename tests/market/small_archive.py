"""A public archive of three contracts and six months, on disk and served, for tests that break it."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from autoquant.clock import day_ms
from autoquant.market import names
from autoquant.market.fetch import Patience
from autoquant.protocol import Calendar, Protocol

SMALL = Protocol(
    universe=("BTCUSDT", "ETHUSDT", "XRPUSDT"),
    calendar=Calendar(
        archive_start="2022-11-01", valid_start="2023-01-01", lockbox_start="2023-03-01", lockbox_end="2023-05-01"
    ),
)
QUICK = Patience(attempts=4, mismatch_attempts=2, first_wait=0.01, wait_ceiling=0.05, retry_after_ceiling=0.1)
HOUR = 3_600_000
BAR = 4 * HOUR
HEADER = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore"
)
FUNDING_HEADER = "calc_time,funding_interval_hours,last_funding_rate"

Lines = list[str]
Answer = tuple[int, dict[str, str], bytes]


def kline(time: int, price: float = 100.0, volume: float = 7.0) -> str:
    return f"{time},{price},{price + 2},{price - 2},{price + 1},{volume},{time + BAR - 1},{volume * price},9,1,1,0"


def flat(time: int, price: float) -> str:
    return f"{time},{price},{price},{price},{price},0.0,{time + BAR - 1},0.0,0,0,0,0"


def zipped(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), text)
    return buffer.getvalue()


class SmallArchive:
    """Files under `root` in the archive's layout; `edit`, `remove` and `put` break them."""

    def __init__(self, root: Path, protocol: Protocol = SMALL) -> None:
        self.root = root
        calendar = protocol.calendar
        bar = calendar.bar_hours * HOUR
        for number, symbol in enumerate(protocol.universe):
            for month in names.months(calendar.archive_start, calendar.lockbox_end):
                start, end = names.month_bounds(month)
                bars = [kline(t, 100.0 * (number + 1) + (t // BAR) % 7) for t in range(start, end, bar)]
                self.write(names.kline_month(symbol, month, calendar.bar_hours), [HEADER, *bars])
                rates = [f"{t + 3},8,0.0001" for t in range(start, end, 8 * HOUR)]
                self.write(names.funding_month(symbol, month), [FUNDING_HEADER, *rates])

    def write(self, path: str, lines: Lines) -> None:
        self.put(path, zipped(Path(path).stem + ".csv", "\n".join(lines) + "\n"))

    def put(self, path: str, content: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        target.with_name(target.name + ".CHECKSUM").write_text(f"{digest}  {target.name}\n")

    def lines(self, path: str) -> Lines:
        with zipfile.ZipFile(self.root / path) as archive:
            return archive.read(archive.namelist()[0]).decode().splitlines()

    def edit(self, path: str, change: Callable[[Lines], Lines]) -> None:
        self.write(path, change(self.lines(path)))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()
        (self.root / f"{path}.CHECKSUM").unlink()

    def end(self, symbol: str, last: int, *, tail: bool = True) -> None:
        """Delist `symbol` after the bar that opens at `last`: a flat tail to the month's end, then nothing."""
        for month in names.months("2022-11-01", "2023-05-01"):
            start, stop = names.month_bounds(month)
            path = kline_path(symbol, month)
            if start > last:
                self.remove(path)
                self.remove(names.funding_month(symbol, month))
            elif stop > last:
                kept = [line for line in self.lines(path)[1:] if int(line.split(",")[0]) <= last]
                price = float(kept[-1].split(",")[4])
                dead = [flat(t, price) for t in range(last + BAR, stop, BAR)] if tail else []
                self.write(path, [HEADER, *kept, *dead])


def kline_path(symbol: str, month: str) -> str:
    return names.kline_month(symbol, month, 4)


def at(text: str) -> int:
    """Milliseconds of `2023-01-05` or `2023-01-05 04:00`."""
    day, _, clock = text.partition(" ")
    return day_ms(day) + (int(clock.split(":")[0]) * HOUR if clock else 0)


class Site:
    """Serves a folder; `script[path]` holds answers to give first, `requests` what was asked for."""

    def __init__(self, root: Path) -> None:
        self.script: dict[str, list[Answer]] = {}
        self.requests: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                path = self.path.lstrip("/")
                site.requests.append(path)
                waiting = site.script.get(path)
                if waiting:
                    status, headers, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                elif (root / path).is_file():
                    status, headers, body = 200, {}, (root / path).read_bytes()
                else:
                    status, headers, body = 404, {}, b"NoSuchKey"
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()
                if "Content-Length" in headers:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
