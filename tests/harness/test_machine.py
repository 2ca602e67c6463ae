from __future__ import annotations

from pathlib import Path

from autoquant.harness.machine import Machine


def test_a_question_is_asked_once_although_its_scratch_folder_is_new(tmp_path: Path):
    machine = Machine({"PATH": "/usr/bin:/bin"}, tmp_path, is_root=False)
    argv = ("sh", "-c", f'echo x >> {tmp_path}/asked; mkdir -p "$STATE"; echo "$STATE"')
    first = machine.ask(argv, {"A": "1"}, {"STATE": "below/here"})
    assert first is not None
    folder = Path(first.stdout.strip())
    assert ("here", "below") == (folder.name, folder.parent.name)
    assert not folder.parent.parent.exists()
    assert first is machine.ask(argv, {"A": "1"}, {"STATE": "below/here"})
    assert first is not machine.ask(argv, {"A": "2"}, {"STATE": "below/here"})
    assert 2 == len((tmp_path / "asked").read_text().split())


def test_a_program_that_cannot_be_asked_gives_no_answer(tmp_path: Path):
    assert None is Machine({}, tmp_path, is_root=False).ask(("/no/such/program",))
