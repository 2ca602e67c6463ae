"""A session's output for people: whatever a program printed, what is shown is short, plain and inert."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoquant import codec, files
from autoquant.arena import command
from autoquant.arena.sessions import logs
from autoquant.arena.sessions.listening import LOOK_BYTES
from autoquant.arena.sessions.logs import latest_line, show_logs
from autoquant.arena.sessions.place import logs_of
from autoquant.clock import SystemClock
from autoquant.errors import UserError
from autoquant.harness import ADAPTERS
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.plain_reader import PlainReader
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger

UTC = "2026-11-30T12:34:56Z"


class WordReader(PlainReader):
    """The first word of a line says what it is."""

    def stdout(self, line: str) -> tuple[Event, ...]:
        word, _, text = line.partition(" ")
        match word:
            case "say":
                return (Named("c-1"), Said(text))
            case "call":
                return (Called("shell", text),)
            case "model":
                return (ModelSeen(text),)
            case "spend":
                return (Spent("c-1", text, Usage(input=1_000, output=200, requests=1), None),)
            case "hurt":
                return (Hurt(Trouble.RATE_LIMIT, text, gives_up=True),)
            case "end":
                return (Finished(ok=not text, text=text),)
        return ()

    def stderr(self, line: str) -> tuple[Event, ...]:
        return (Said(f"stderr: {line}"),)


class WordHarness:
    def reader(self) -> WordReader:
        return WordReader()


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Two competitors; alice has had one session, and her second is running."""
    monkeypatch.setitem(ADAPTERS, "words", WordHarness())  # type: ignore[arg-type]
    layout = layout_of(tmp_path)
    layout.root.mkdir(parents=True)
    made = Ledger.open(layout.ledger)
    pin = r.DataPin("binance-archive", "1", "2", "3")
    for body in (
        r.RaceCreated("autumn", "race", "p", {}, "c", pin, 0.3, 1000, "n", "s", "t", 5, None, "sealed"),
        r.CompetitorJoined("alice", "words", "paper", "high", "#112233", 5),
        r.CompetitorJoined("bob", "gone-with-an-older-version", None, None, "#112233", 5),
        r.SessionStarted("alice", 1, "words 1.2"),
        r.UsageCounted("alice", 1, 1, 3, 1_100_000, 900_000, 100_000, 0, 3.1, "cli"),
        r.SessionEnded("alice", 1, "exited", 0, 75.0, "early stop", "c-1", "went home"),
        r.SessionStarted("alice", 2, "words 1.2", "c-1"),
    ):
        made.append(body, UTC)
    printed(layout, 1, "say hello\ncall python run.py -m x\n", "warned\n")
    return made


def layout_of(state: Path) -> RaceLayout:
    return RaceLayout(state, "autumn")


def printed(layout: RaceLayout, number: int, stdout: str, stderr: str = "", name: str = "alice") -> None:
    for path, text in zip(logs_of(layout, name, number), (stdout, stderr), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shown(layout: RaceLayout, name: str = "alice", **options: object) -> list[str]:
    lines: list[str] = []
    show_logs(layout, name, lines.append, **options)  # type: ignore[arg-type]
    return lines


def test_a_session_is_a_header_its_lines_and_its_end(ledger: Ledger, tmp_path: Path):
    assert [
        "session 1 · started 2026-11-30 12:34 · words 1.2 · fresh",
        "  hello",
        "  > shell: python run.py -m x",
        "  stderr: warned",
        "session 1 ended 2026-11-30 12:34 · early stop, exit 0 · 1 m 15 s · 1.2 M tokens, $3.10 · went home",
    ] == shown(layout_of(tmp_path), session=1)


def test_the_newest_session_is_shown_and_its_own_tokens_while_none_are_recorded(ledger: Ledger, tmp_path: Path):
    text = "model paper-1\nspend a\nspend a\nspend b\nhurt 429 slow down\nend no more\nnoise\nend"
    printed(layout_of(tmp_path), 2, text)
    assert [
        "session 2 · started 2026-11-30 12:34 · words 1.2 · resumes c-1",
        "  model paper-1",
        "  ! rate limit, gives up: 429 slow down",
        "  turn failed: no more",
        "  turn finished",
        "session 2 has no end on record · 2.4 k tokens",
    ] == shown(layout_of(tmp_path))


def test_raw_lines_come_as_they_were_printed(ledger: Ledger, tmp_path: Path):
    assert ["say hello", "call python run.py -m x", "warned"] == shown(layout_of(tmp_path), session=1, raw=True)


def test_what_a_program_prints_cannot_steer_the_terminal(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    printed(layout_of(tmp_path), 2, "say \x1b[2Jgone \u202etxt.exe " + "x" * 5_000 + "\n\x9b31m\n", "\x07\x00\n")
    for arguments in (
        ["logs", "alice", f"--state-dir={tmp_path}"],
        ["logs", "alice", f"--state-dir={tmp_path}", "--raw"],
    ):
        assert 0 == command.main(arguments)
        out = capsys.readouterr().out
        assert all(character.isprintable() or character == "\n" for character in out)
        assert "\\x1b[2Jgone" in out
    readable = "".join(shown(layout_of(tmp_path)))
    assert 5_000 > len(readable)


def hostile(text: str) -> bool:
    """Whether it could steer a terminal, its direction, or fill the screen."""
    return any(not character.isprintable() for character in text) or len(text) > logs.LINE + 2


@pytest.mark.parametrize(
    "evil",
    [
        "\x1b[2J\x1b[H\x1b]0;title\x07gone",
        "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\ \x1b[?1049h",
        "\x9b31m\x9d0;title\x9c",
        "a\rb\x08\x08\x0b\x0c\x00\x7f",
        "\u202etxt.exe\u202c \u2066a\u2069 \u200f\u061c\u200b\ufeff",
        "one\u2028two\u2029three\x85four",
        "\ud800".encode(errors="surrogatepass").decode(errors="replace"),
        "x" * (1 << 20),
        "\x1b" * (1 << 20),
        "\u202e\U000e0041" * (1 << 18),
    ],
    ids=[
        "escapes",
        "links",
        "C1",
        "controls",
        "bidi",
        "separators",
        "surrogate",
        "1 MB",
        "1 MB of escapes",
        "1 MB of marks",
    ],
)
@pytest.mark.parametrize("word", ["say", "call", "model", "hurt", "end"])
def test_no_line_of_a_program_steers_or_floods_what_shows_it(ledger: Ledger, tmp_path: Path, word: str, evil: str):
    layout = layout_of(tmp_path)
    printed(layout, 2, f"{word} {evil}\nsay after\n", evil)
    lines = shown(layout)
    assert "  after" in lines
    assert [] == [line for line in lines if hostile(line)]
    printed(layout, 2, f"{word} {evil}\n")
    assert not hostile(latest_line(layout, ledger.view, "alice"))


def test_what_a_record_quotes_of_a_program_cannot_steer_the_terminal_either(ledger: Ledger, tmp_path: Path):
    evil = "\x1b[2J\u202e" + "x" * 5_000
    ledger.append(r.SessionEnded("alice", 2, "exited", 1, 5.0, "crash" + evil, "c-1", evil), UTC)
    ledger.append(r.SessionStarted("alice", 3, evil, evil), UTC)
    for line in (*shown(layout_of(tmp_path), session=2), *shown(layout_of(tmp_path), session=3)):
        assert line.isprintable()
        assert 1_000 > len(line)


def test_a_log_is_shown_to_its_end_however_long(ledger: Ledger, tmp_path: Path):
    printed(layout_of(tmp_path), 2, ("say " + "x" * 1_000 + "\n") * (2 * LOOK_BYTES // 1_000) + "say the end")
    lines = shown(layout_of(tmp_path))
    assert "  the end" == lines[-2]
    assert 2 * LOOK_BYTES // 1_000 + 3 == len(lines)


def test_a_program_this_version_does_not_know_is_read_as_plain_text(ledger: Ledger, tmp_path: Path):
    ledger.append(r.SessionStarted("bob", 1), UTC)
    printed(layout_of(tmp_path), 1, '{"half": \nplain words\n', name="bob")
    assert ['  {"half":', "  plain words"] == shown(layout_of(tmp_path), "bob")[1:-1]


def test_a_verdict_printed_as_json_is_the_one_line_it_says_to_people(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    ledger.append(r.SessionStarted("bob", 1), UTC)
    verdict = codec.dumps({"attempts": 1, "message": "keep: beats the champion", "score": {"folds": [1, 2]}}, indent=1)
    printed(layout, 1, f"before\n{verdict}\nafter\n{{\n}}\n{{\nno json\n}}\n{verdict}\n", name="bob")
    assert ["  before", "  keep: beats the champion", "  after", "  keep: beats the champion"] == shown(layout, "bob")[
        1:-1
    ]
    assert "keep: beats the champion" == latest_line(layout, ledger.view, "bob")
    assert verdict.splitlines() == shown(layout, "bob", raw=True)[1 : 1 + len(verdict.splitlines())]


def test_missing_logs_leave_header_and_end(ledger: Ledger, tmp_path: Path):
    assert 2 == len(shown(layout_of(tmp_path), session=2))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("carol", {}, "'carol' is not in race autumn"),
        ("bob", {}, "bob has had no session yet"),
        ("bob", {"follow": True}, "bob has had no session yet"),
        ("alice", {"session": 3}, "alice has no session 3"),
    ],
)
def test_what_is_not_there_is_one_line(
    ledger: Ledger, tmp_path: Path, name: str, options: dict[str, object], words: str
):
    with pytest.raises(UserError, match=words):
        shown(layout_of(tmp_path), name, **options)


class Steps(SystemClock):
    """Each wait does the next step of a story."""

    def __init__(self, story: Iterator[None]) -> None:
        object.__setattr__(self, "_story", story)

    def sleep(self, seconds: float) -> None:
        next(self._story)  # type: ignore[attr-defined]


def test_following_shows_what_comes_until_the_race_is_over(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    stdout, stderr = logs_of(layout, "alice", 2)
    lines: list[str] = []

    def story() -> Iterator[None]:
        with stdout.open("a") as out:
            out.write("say one\nsay tw")
        yield
        assert "  one" == lines[-1]
        with stdout.open("a") as out:
            out.write("o\n")
        stderr.write_text("oh\n")
        yield
        assert ["  two", "  stderr: oh"] == lines[-2:]
        with stdout.open("a") as out:
            out.write("say last words")
        ledger.append(r.SessionEnded("alice", 2, "exited", 0, 5.0, "early stop"), UTC)
        yield
        assert ["  last words", "session 2 ended 2026-11-30 12:34 · early stop, exit 0 · 5 s"] == lines[-2:]
        ledger.append(r.SessionStarted("alice", 3), UTC)
        printed(layout, 3, "say third\n")
        yield
        assert "session 3 · started 2026-11-30 12:34 · fresh" in lines
        ledger.append(r.SessionEnded("alice", 3, "budget used", None, 5.0, "done"), UTC)
        ledger.append(r.CompetitorEnded("alice", "done"), UTC)
        yield
        raise AssertionError("nothing is left to wait for")

    printed(layout, 2, "")
    with files.exclusive_lock(layout.lock, "arena process 7 on here"):
        show_logs(layout, "alice", lines.append, follow=True, clock=Steps(story()))
    assert "session 3 ended 2026-11-30 12:34 · done · 5 s" == lines[-1]


def test_following_one_session_ends_with_it(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    printed(layout, 2, "say a\n")

    def story() -> Iterator[None]:
        ledger.append(r.SessionEnded("alice", 2, "exited", 0, 5.0, "early stop"), UTC)
        ledger.append(r.SessionStarted("alice", 3), UTC)
        yield
        raise AssertionError("the session is over")

    lines: list[str] = []
    with files.exclusive_lock(layout.lock, "arena process 7 on here"):
        show_logs(layout, "alice", lines.append, session=2, follow=True, clock=Steps(story()))
    assert 3 == len(lines)


def test_following_ends_when_the_arena_lets_go(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    printed(layout, 2, "say a\n")
    holding = files.exclusive_lock(layout.lock, "arena process 7 on here")
    holding.__enter__()

    def story() -> Iterator[None]:
        holding.__exit__(None, None, None)
        yield
        raise AssertionError("nobody writes any more")

    lines: list[str] = []
    show_logs(layout, "alice", lines.append, follow=True, clock=Steps(story()))
    assert "session 2 has no end on record" == lines[-1]


def test_ctrl_c_while_following_is_exit_130(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(self: SystemClock, seconds: float) -> None:
        raise KeyboardInterrupt

    layout = layout_of(tmp_path)
    printed(layout, 2, "say a\n")
    monkeypatch.setattr(SystemClock, "sleep", interrupted)
    with files.exclusive_lock(layout.lock, "arena process 7 on here"):
        assert 130 == command.main(["logs", "alice", "-f", f"--state-dir={tmp_path}"])
    assert "  a\n" in capsys.readouterr().out


def test_the_newest_line_of_the_running_session_is_found(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    assert "" == latest_line(layout, ledger.view, "alice")
    printed(layout, 2, "say old\n" * 9_000 + "call python run.py\nspend x\nnoise\nsay half a li")
    assert "> shell: python run.py" == latest_line(layout, ledger.view, "alice")
    assert "" == latest_line(layout, ledger.view, "bob")
    assert "" == latest_line(layout, ledger.view, "nobody")


def test_no_more_than_the_end_of_a_log_is_read_for_the_newest_line(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    printed(layout, 2, "say far away\n" + "noise\n" * (logs.TAIL_BYTES // 6 + 1))
    assert "" == latest_line(layout, ledger.view, "alice")


def test_a_session_that_is_over_says_nothing_new(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    printed(layout, 2, "say a\n")
    ledger.append(r.SessionEnded("alice", 2, "exited", 0, 5.0, "early stop"), UTC)
    assert "" == latest_line(layout, ledger.view, "alice")


def test_a_pipe_in_the_place_of_a_log_holds_nobody_up(ledger: Ledger, tmp_path: Path):
    layout = layout_of(tmp_path)
    for path in logs_of(layout, "alice", 2):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(latest_line(layout, ledger.view, "alice")), daemon=True)
    thread.start()
    thread.join(10)
    assert [""] == found
