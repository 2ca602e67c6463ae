"""What README and program.md tell a reader to type is what the commands take."""

from __future__ import annotations

import pkgutil
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest

from autoquant import process
from autoquant.arena.sessions.policy import POLICY, Outcome
from autoquant.harness import ADAPTERS

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "program.md", "CONTRIBUTING.md")
LINE = re.compile(r"(?:uv run )?(?:python )?\b(arena|run|evaluate|dashboard|setup_data)\.py\b([^`\n#]*)")


def quoted_commands() -> list[tuple[str, str, tuple[str, ...]]]:
    found = []
    for page in PAGES:
        for name, rest in LINE.findall((REPOSITORY / page).read_text()):
            try:
                words = shlex.split(rest.strip().rstrip(".,;:)"))
            except ValueError:
                continue
            if words and (words[0].startswith("-") or name == "arena"):
                found.append((page, name, tuple(words)))
    return sorted(set(found))


@cache
def help_text(*command: str) -> str:
    done = process.run([sys.executable, *command, "--help"], cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize(("page", "name", "words"), quoted_commands())
def test_each_option_a_page_names_is_in_that_commands_help(page: str, name: str, words: tuple[str, ...]) -> None:
    subcommand = [words[0]] if name == "arena" and re.fullmatch(r"[a-z]+", words[0]) else []
    subcommand += words[1:2] if subcommand == ["tasks"] else []
    text = help_text(f"{name}.py", *subcommand)
    for option in (word.split("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word.split("=")[0])):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{page}: {name}.py has no {option}"


def test_each_page_is_covered() -> None:
    assert {"README.md", "program.md"} <= {page for page, _, _ in quoted_commands()}


def test_every_file_the_readme_names_is_there() -> None:
    text = (REPOSITORY / "README.md").read_text()
    named = set(re.findall(r"`((?:docs|tests|bench|autoquant)/[\w./-]*)`", text))
    assert named
    assert [] == [name for name in named if not (REPOSITORY / name).exists() and name != "docs/index.html"]


def test_the_readme_tells_what_follows_each_end_of_a_session_as_the_policy_has_it() -> None:
    rows = dict(re.findall(r"^\|[^|\n]+\| (`[^|]+`) \| ([^|\n]+)", (REPOSITORY / "README.md").read_text(), re.M))
    told = {outcome: text for names, text in rows.items() for outcome in re.findall(r"`([^`]+)`", names)}
    follows = {str(outcome): rule for outcome, rule in POLICY.items()}
    same = "context full", "ended by us"  # "the same" as the row above: a fresh session
    assert set(follows) <= set(told)
    for outcome, rule in follows.items():
        if outcome in same:
            assert told[outcome].strip().startswith("the same")
            assert not rule.resume
        elif outcome not in ("auth", "setup"):
            assert rule.resume == bool(re.search(r"resumes|waits", told[outcome])), outcome
        if rule.leave_after is not None:
            assert "leaves" in told[outcome], outcome


def test_the_readme_holds_a_whole_account_back_where_the_arena_does() -> None:
    rows = re.findall(r"^\|[^|\n]+\| (`[^|]+`) \| ([^|\n]+)", (REPOSITORY / "README.md").read_text(), re.M)
    waiting = {
        name for names, text in rows if "other racers wait too" in text for name in re.findall(r"`([^`]+)`", names)
    }
    assert {str(Outcome.RATE_LIMIT), str(Outcome.QUOTA)} == waiting


def test_a_silent_hang_is_told_as_an_idle_session_wherever_stalling_is_explained() -> None:
    assert POLICY[Outcome.STALL].idle
    adr = next((REPOSITORY / "docs" / "adr").glob("0011-*.md"))
    for page in (REPOSITORY / "README.md", REPOSITORY / "docs" / "INVARIANTS.md", adr):
        text = " ".join(page.read_text().split())
        assert re.search("hree sessions in a row that end by themselves or hang without an (experiment|attempt)", text)
        assert re.search("hang (that nobody explains|without a complaint|without any complaint) counts as", text), page


def test_no_page_sends_a_reader_to_doctor_for_a_refused_key() -> None:
    rows = re.findall(r"^\|[^|\n]+\| (`[^|]+`) \| ([^|\n]+)", (REPOSITORY / "README.md").read_text(), re.M)
    (told,) = [text for names, text in rows if "`auth`" in names]
    assert "fault line" in told
    assert "doctor" not in told


def test_every_name_a_docstring_points_to_is_there() -> None:
    rooms = "|".join(path.name for path in (REPOSITORY / "autoquant").iterdir() if (path / "__init__.py").exists())
    pointer = re.compile(rf"`(?:autoquant\.)?((?:{rooms})(?:\.\w+)+)`")
    named = {name for path in (REPOSITORY / "autoquant").rglob("*.py") for name in pointer.findall(path.read_text())}
    assert "arena.sessions.policy.Outcome" in named
    assert [] == sorted(name for name in named if not exists(f"autoquant.{name}"))


def exists(dotted: str) -> bool:
    try:
        return pkgutil.resolve_name(dotted) is not None
    except (ImportError, AttributeError):
        return False


def test_the_readme_names_every_kind_of_harness() -> None:
    table = (REPOSITORY / "README.md").read_text()
    for kind in ADAPTERS:
        assert re.search(rf"^\| `{kind}` \|", table, re.M), kind
