"""The supervisor against what real CLIs were recorded to print: each end gets its class, and what follows from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stand import QUICK, Stand, make_stand

from autoquant import process
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.sessions.track import Pace
from autoquant.ledger import records as r

CLAUDE = "claude-2.1.332"
MODEL = "claude-opus-4-5"
PATIENT = Pace(**{**vars(QUICK), "hopeless": 0.3})
FIRST = "first = '--resume' not in sys.argv\n"


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return make_stand(tmp_path)


def run(stand: Stand, program: str, *, pace: Pace = PATIENT, model: str = MODEL, kind: str = "claude") -> str:
    stand.join_cli(kind, model, program)
    return stand.supervisor(pace, machine=stand.machine).run()


def ends(stand: Stand) -> list[r.SessionEnded]:
    return [body for body in stand.bodies(r.SessionEnded) if isinstance(body, r.SessionEnded)]


def test_an_early_stop_resumes_the_conversation_the_stream_named(stand: Stand):
    run(stand, f"{FIRST}say('{CLAUDE}/ok.stdout.jsonl')\nsubmit()\nif not first: submit()\n")
    first, second = ends(stand)
    assert ("early stop", "done") == (first.outcome, second.outcome)
    begun = [body for body in stand.bodies(r.SessionStarted) if isinstance(body, r.SessionStarted)]
    assert [None, first.conversation] == [body.resumes for body in begun]
    assert first.conversation


def test_a_program_that_says_it_is_finished_and_never_exits_is_ended_as_what_it_said(stand: Stand):
    run(stand, f"{FIRST}submit()\nsay('{CLAUDE}/ok.stdout.jsonl')\nif first: time.sleep(600)\nsubmit(); submit()")
    assert [("did not exit", "early stop"), ("exited", "done")] == [(b.reason, b.outcome) for b in ends(stand)]
    assert [] == process.marked(run_mark(stand.layout, "a"))


def test_a_refused_login_that_the_program_retries_for_ever_is_ended_and_left_for_the_next_start(stand: Stand):
    golden = Path(__file__).resolve().parents[2] / "golden" / CLAUDE / "auth.stdout.jsonl"
    retries = [line for line in golden.read_text().splitlines() if '"api_retry"' in line or '"init"' in line]
    program = f"for line in {retries!r}: print(line, flush=True)\ntime.sleep(600)\n"
    assert "harness faults" == run(stand, program)
    (end,) = ends(stand)
    assert ("auth", "auth") == (end.reason, end.outcome)
    assert "401" in end.detail
    racer = stand.ledger.view.competitors["a"]
    assert (None, 0) == (racer.ended, len(racer.attempts))
    assert ["auth"] == [fault.kind for fault in racer.faults]
    assert 0 < end.lost_seconds <= end.seconds


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ("rate-limited-to-the-end", "rate limit"),
        ("server-error", "server error"),
        ("quota", "quota"),
    ],
)
def test_what_a_provider_did_is_waited_out_and_never_charged(stand: Stand, case: str, outcome: str):
    once = "path = pathlib.Path('tried')\n"
    run(
        stand,
        f"{once}if not path.exists():\n    path.touch()\n    say('{CLAUDE}/{case}.stdout.jsonl')\n"
        "    raise SystemExit(1)\nsubmit(); submit(); submit()",
    )
    assert [outcome, "done"] == [end.outcome for end in ends(stand)]
    racer = stand.ledger.view.competitors["a"]
    assert ("done", 3, 0) == (racer.ended, len(racer.attempts), len(racer.faults))
    assert racer.infrastructure_seconds > 0


def test_a_full_context_goes_on_in_a_fresh_conversation_that_is_told_the_record(stand: Stand):
    run(
        stand,
        "import shutil\nfirst = not pathlib.Path('tried').exists()\nprompt = sys.stdin.read()\nsubmit()\n"
        "if first:\n    pathlib.Path('tried').touch()\n"
        f"    say('{CLAUDE}/context-full.stdout.jsonl')\n    raise SystemExit(1)\n"
        "pathlib.Path('prompt').write_text(prompt + ' '.join(sys.argv))\nsubmit()",
    )
    assert ["context full", "done"] == [end.outcome for end in ends(stand)]
    told = (stand.layout.worktree("a") / "prompt").read_text()
    assert "1 of 3 experiments are used, by you, in a conversation that is gone" in told
    assert "--resume" not in told


def test_a_refusal_to_run_as_root_is_set_up_and_nothing_is_tried_again(stand: Stand):
    assert "harness faults" == run(stand, f"sys.stderr.write(open('{'{}'}').read())".replace("{}", str(root_refusal())))
    assert ["setup"] == [end.outcome for end in ends(stand)]


def root_refusal() -> Path:
    return Path(__file__).resolve().parents[2] / "golden" / CLAUDE / "root.stderr.txt"


def test_another_model_than_the_one_asked_for_ends_the_session_at_once(stand: Stand):
    run(stand, f"submit()\nsay('{CLAUDE}/ok.stdout.jsonl')\ntime.sleep(600)", model="claude-sonnet-5")
    assert "model switched" in {end.outcome for end in ends(stand)}
    assert "early stop" not in {end.outcome for end in ends(stand)}


def test_tokens_of_a_session_whose_arena_died_are_recorded_by_the_next_one_once(stand: Stand):
    stand.join_cli("claude", MODEL, "submit(); submit(); submit()")
    stand.ledger.append(r.SessionStarted("a", 1), "2026-11-30T00:00:00Z")
    logs = stand.layout.logs / "a"
    logs.mkdir(parents=True)
    golden = Path(__file__).resolve().parents[2] / "golden" / CLAUDE
    (logs / "0001.stdout").write_text((golden / "ok.stdout.jsonl").read_text())
    stand.supervisor(PATIENT, machine=stand.machine).run()
    racer = stand.ledger.view.competitors["a"]
    usage = json.loads([x for x in (golden / "ok.stdout.jsonl").read_text().splitlines() if '"result"' in x][-1])
    assert usage["total_cost_usd"] == pytest.approx(racer.usage.cost_usd)
    assert (3000, 1200, 120) == (racer.usage.input, racer.usage.cached, racer.usage.output)
    assert "lost" == racer.sessions[0].outcome
    assert racer.sessions[0].conversation == racer.sessions[1].resumes
    before = len(racer.spent)
    stand.supervisor(PATIENT, machine=stand.machine).run()
    assert before == len(stand.ledger.view.competitors["a"].spent)
