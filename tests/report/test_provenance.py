from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.protocol import PROTOCOL
from autoquant.report import commands
from autoquant.report.collect import collect
from autoquant.report.page import page
from autoquant.stats.conventions import CONVENTIONS

WORDS = (
    "score", "fold", "gates", "room", "champion, keep", "working parent, search", "archive slots", "noise floor",
    "z(n)", "beyond error", "shifted folds", "placebo p", "no-skill band", "DSR", "N*", "PBO", "tie group, =",
    "P(Sharpe > 0)", "mask-dependent", "agent time", "cost per keep", "non-adaptive, optimistic", "control",
    "extension",
)  # fmt: skip


def provenance(case: RaceCase) -> str:
    shown = page(case.state, None, home=case.state)
    return shown[shown.index('<section aria-labelledby="provenance">') :]


def copied(shown: str) -> list[str]:
    return [html.unescape(words) for words in re.findall(r'<code class="copy">(.*?)</code>', shown)]


def meanings(shown: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", shown[shown.index("<h3>Words") :])
    return {html.unescape(term): read(words).text for term, words in found}


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    case = RaceCase(tmp_path, seed_text="DAYS = 60\n")
    case.join("sol")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5), text="DAYS = 90\n")
    return case


def test_every_word_is_told_once_in_a_line(case: RaceCase):
    shown = provenance(case)
    told = meanings(shown)
    assert [] == [word for word in WORDS if word not in told]
    assert len(told) == len(re.findall(r"<dt>", shown[shown.index("<h3>Words") :]))
    assert [] == [term for term, words in told.items() if not 20 < len(words) < 260]


def test_words_carry_the_protocols_numbers_and_the_statistics_rooms_words(case: RaceCase):
    told = meanings(provenance(case))
    assert (
        f"at least {PROTOCOL.ratchet.official_folds} of {PROTOCOL.calendar.folds} folds better"
        in told["champion, keep"]
    )
    assert f"Δ score > {PROTOCOL.ratchet.search_delta:g}" in told["working parent, search"]
    assert ", ".join(map(str, PROTOCOL.shift_days)) in told["shifted folds"]
    for term, key in (("DSR", "dsr"), ("N*", "effective_trials"), ("PBO", "pbo"), ("placebo p", "placebo")):
        assert CONVENTIONS[key].convention in told[term]
        assert CONVENTIONS[key].source in told[term]
        assert CONVENTIONS[key].adaptive != ("non-adaptive, optimistic" in told[term])


def test_commands_score_the_seed_and_every_champion_from_texts_that_are_there(case: RaceCase):
    lines = [line for line in copied(provenance(case)) if line.startswith("uv run evaluate.py state/")]
    digests = [line.split("/")[-1] for line in lines]
    assert [b"DAYS = 60\n", b"DAYS = 90\n"] == [case.layout.blob(digest).read_bytes() for digest in digests]


def test_a_demos_commands_name_its_own_folder(tmp_path: Path):
    case = RaceCase(tmp_path, kind="demo", source="synthetic", samples=200)
    case.join("random", "control")
    lines = copied(provenance(case))
    for line in (
        "uv run setup_data.py --verify --synthetic --data-dir demo/data",
        "uv run evaluate.py --calibrate --samples 200 --data-dir demo/data",
        "uv run arena.py status --race autumn --state-dir demo/state",
        "uv run dashboard.py --race autumn --state-dir demo/state --out report.html",
    ):
        assert line in lines


def test_the_command_that_shows_a_diff_finds_both_texts(case: RaceCase, tmp_path: Path):
    race = collect(case.state, case.name).race
    line = commands.compare_texts(race, race.provenance.seed_strategy, race.entrants[0].attempts[0].strategy)
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "state").symlink_to(case.state)
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path / "checkout", capture_output=True, text=True, check=False)
    assert ["-DAYS = 60", "+DAYS = 90"] == done.stdout.splitlines()[-2:]


def test_names_in_commands_are_quoted_for_the_shell(tmp_path: Path):
    case = RaceCase(tmp_path, source="http://x/$(touch owned)")
    case.join("sol")
    assert "uv run setup_data.py --base-url 'http://x/$(touch owned)'" in copied(provenance(case))


def test_the_sealed_panels_digest_is_named_once_it_is_fetched(case: RaceCase):
    assert "no byte of it has been fetched" in provenance(case)
    case.end("sol")
    case.add(r.LockboxReserved((r.LockboxEntry("seed", None, 0, "77" * 32),)))
    case.add(r.LockboxFetched({"panel": {"digest": "88" * 32}}, accept_changed=False))
    assert "sealed panel " + "88" * 32 in read(provenance(case)).text


def test_without_a_champion_the_seed_alone_is_scored_again(tmp_path: Path):
    case = RaceCase(tmp_path, seeded=False)
    text = read(provenance(case)).text
    assert "seed, score n/a" in text
    assert 1 == sum("evaluate.py state/" in line for line in copied(provenance(case)))
