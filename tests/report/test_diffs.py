from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant import files
from autoquant.ledger.layout import RaceLayout
from autoquant.report import diffs
from autoquant.report.diffs import Allowance, Change, Texts, compare

LINES = st.lists(st.sampled_from(["", "a = 1", "b = 2", "    return a", "# c", "x = y"]), max_size=30)


def layout(tmp_path: Path) -> RaceLayout:
    found = RaceLayout(tmp_path, "autumn")
    found.root.mkdir(parents=True, exist_ok=True)
    return found


def stored(at: RaceLayout, text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    digest = files.sha256_bytes(data)
    files.atomic_write(at.blob(digest), data, durable=False)
    return digest


def compared(tmp_path: Path, before: str | bytes, after: str | bytes) -> Change:
    at = layout(tmp_path)
    return compare(Texts(at), stored(at, before), stored(at, after), Allowance())


def shown(change: Change) -> list[str]:
    return "\n".join(run.text for run in change.runs).split("\n")


def test_a_change_is_shown_with_its_line_around_it_and_its_place(tmp_path: Path):
    before = "".join(f"line {n}\n" for n in range(1, 30))
    change = compared(tmp_path, before, before.replace("line 12\n", "line twelve\nand more\n"))
    expected = ["@@ -11,3 +11,4 @@", " line 11", "-line 12", "+line twelve", "+and more", " line 13"]
    assert expected == shown(change)
    assert (2, 1, 0, False, "") == (change.added, change.removed, change.more, change.coarse, change.missing)


def patched(before: list[str], change: Change) -> list[str]:
    """The text after, by the shown lines alone."""
    result: list[str] = []
    place = 0
    for line in shown(change) if change.runs else []:
        kind, rest = line[0], line[1:]
        if kind == "@":
            start = int(line.split()[1].split(",")[0].removeprefix("-")) - 1
            result += before[place:start]
            place = start
            continue
        if kind in " -":
            assert before[place] == rest
            place += 1
        if kind in " +":
            result.append(rest)
    return result + before[place:]


@settings(deadline=None)
@given(LINES, LINES)
def test_the_shown_lines_turn_the_one_text_into_the_other(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str]
):
    texts = ["".join(f"{line}\n" for line in text) for text in (before, after)]
    change = compared(tmp_path_factory.mktemp("texts"), *texts)
    assert after == patched(before, change)
    assert len(after) - len(before) == change.added - change.removed
    assert (before == after) is (change.runs == ())


def test_the_same_text_has_no_lines(tmp_path: Path):
    assert () == compared(tmp_path, "a\nb\n", "a\nb\n").runs


def test_a_text_that_is_not_there_altered_or_linked_is_said(tmp_path: Path):
    at = layout(tmp_path)
    here, altered, linked = stored(at, "a"), stored(at, "b"), stored(at, "c")
    at.blob(altered).write_text("something else")
    at.blob(linked).unlink()
    at.blob(linked).symlink_to(at.blob(here))
    texts = Texts(at)
    missing = "ab" * 32
    assert "the parent’s text is not there, or no plain file" == compare(texts, missing, here, Allowance()).missing
    assert "its text is not there, or no plain file" == compare(texts, here, linked, Allowance()).missing
    assert "its text differs from its digest" == compare(texts, here, altered, Allowance()).missing
    assert "its text is not there, or no plain file" == compare(texts, here, "../../etc/passwd", Allowance()).missing


def test_hostile_lines_are_made_inert_and_cut(tmp_path: Path):
    hostile = "\x1b[31m\u202e</pre><script>\u2066\r\tx" + "y" * 500
    change = compared(tmp_path, "a\n", f"a\n{hostile}\n")
    line = next(line for line in shown(change) if line.startswith("+\\"))
    assert line.isprintable()
    assert "\\x1b[31m\\u202e</pre><script>\\u2066\\r\\tx" in line
    assert len(line) <= diffs.WIDTH + 1
    assert "<" not in "".join(run.markup for run in change.runs)


def test_bytes_that_are_no_text_differ_visibly(tmp_path: Path):
    assert ["-\\udcfe", "+\\udcff"] == shown(compared(tmp_path, b"\xfe\n", b"\xff\n"))[1:]


def test_a_missing_end_of_the_last_line_is_a_change(tmp_path: Path):
    assert [" a", "+\\ No newline at end of file"] == shown(compared(tmp_path, "a\n", "a"))[1:]


def test_a_long_diff_is_cut_and_its_rest_counted(tmp_path: Path):
    change = compared(tmp_path, "a\n", "a\n" + "".join(f"{n}\n" for n in range(500)))
    assert 500 == change.added
    assert diffs.LINES == sum(not line.startswith("@") for line in shown(change))
    assert 500 - (diffs.LINES - 1) == change.more  # one of the lines shown is context


@pytest.mark.parametrize("kinds", [2, 40])
def test_a_text_made_to_be_slow_is_shown_as_a_block_and_costs_nothing(tmp_path: Path, kinds: int):
    draw = random.Random(kinds)
    texts = ["\n".join(f"pass  # {draw.randrange(kinds)}" for _ in range(2_000)) for _ in range(2)]
    change = compared(tmp_path, f"top\n{texts[0]}\nleft\nend\n", f"top\n{texts[1]}x\nright\nend\n")
    assert change.coarse
    assert diffs.LINES == sum(not line.startswith("@") for line in shown(change))
    assert ("@@", " top") == (shown(change)[0][:2], shown(change)[1])


def test_the_work_of_a_page_is_bounded_over_all_diffs():
    allowance = Allowance(work=250)
    lines = [str(n) for n in range(50)]
    assert [True, False] == [allowance.grants(lines, lines), allowance.grants(lines, [*lines, "more"])]
    assert allowance.grants(lines[:20], lines[:20])


def test_a_change_without_its_lines_keeps_its_counts_and_is_not_whole(tmp_path: Path):
    change = compared(tmp_path, "a\n", "b\nc\n")
    assert change.whole
    assert (2, 1, (), 0) == (change.counts.added, change.counts.removed, change.counts.runs, change.counts.size)
    assert not change.counts.whole
    assert compared(tmp_path, "a\n", "a\n").whole


def test_the_size_is_that_of_the_markup(tmp_path: Path):
    change = compared(tmp_path, "a\n", 'b < "c" & d\n' * 30)
    written = sum(len(f"<ins>{run.markup}\n</ins>".encode()) for run in change.runs)
    assert abs(written - change.size) <= 2 * len(change.runs)
