"""Race an agent that cannot run commands: aider edits strategy.py, this script runs the experiment, and again.

    python aider_session.py --model openai/gpt-5.6 --effort high --prompt-file prompt.md [options for aider]

Start it in the worktree. It ends with 0 when run.py says that the budget is used, with 1 when nothing comes of it any
more, else with the code of whatever failed; the arena then starts the next session. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from pathlib import Path

STRATEGY = Path("strategy.py")
BUDGET_USED = 2
NOTHING_NEW = 3
"""How often in a row the model may answer without a new experiment."""
ROLE = """

You cannot run anything. You edit strategy.py, which you see; each time you have, it is submitted for you and you get
the verdict. Start the file with a docstring of one line that says what this experiment tries."""

OPTIONS = (
    "--yes-always", "--no-git", "--no-check-update", "--analytics-disable", "--no-show-release-notes",
    "--no-show-model-warnings", "--no-check-model-accepts-settings", "--no-detect-urls", "--no-suggest-shell-commands",
    "--no-stream", "--no-pretty", "--no-fancy-input", "--map-tokens=0", "--edit-format=whole",
)  # fmt: skip


def main() -> int:
    """Play one session; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--aider", default="aider", help="the program, default: on PATH")
    parser.add_argument("--model", required=True)
    parser.add_argument("--effort", default="")
    parser.add_argument("--prompt-file", type=Path, required=True)
    options, for_aider = parser.parse_known_args()
    # What aider keeps goes to the private HOME: the worktree is for the strategy.
    keep = Path(os.environ.get("HOME", "."))
    aider = [
        *(options.aider, *OPTIONS, f"--model={options.model}", "--restore-chat-history"),
        *(f"--chat-history-file={keep / 'aider.chat.md'}", f"--input-history-file={keep / 'aider.input'}"),
        *([f"--reasoning-effort={options.effort}"] if options.effort else []),
        *for_aider,
    ]
    message, unlucky = options.prompt_file.read_text(encoding="utf-8") + ROLE, 0
    while unlucky < NOTHING_NEW:
        before, text = judged(), STRATEGY.read_bytes()
        code = subprocess.run([*aider, f"--message={message}", "strategy.py"], stdin=subprocess.DEVNULL).returncode
        if code != 0:
            return code
        if STRATEGY.read_bytes() == text:
            # aider ends with 0 when its provider refused, too; what did not change must not be submitted.
            unlucky += 1
            continue
        done = subprocess.run(
            ["python", "run.py", "-m", idea()], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        print(done.stdout, done.stderr, sep="", flush=True)
        if done.returncode == BUDGET_USED or "No attempts left" in done.stdout:
            return 0
        if done.returncode != 0:
            return done.returncode
        unlucky = 0 if judged() > before else unlucky + 1
        message = f"{done.stdout}\nstrategy.py is again the working parent unless this was accepted. Try the next idea."
    print("no new experiment came of it", file=sys.stderr)
    return 1


def judged() -> int:
    """Experiments that count so far: the rows of results.tsv behind its header."""
    try:
        return len(Path("results.tsv").read_text(encoding="utf-8").splitlines()) - 1
    except OSError:
        return 0


def idea() -> str:
    """First line of the docstring of strategy.py."""
    try:
        text = ast.get_docstring(ast.parse(STRATEGY.read_text(encoding="utf-8")))
    except (OSError, SyntaxError, ValueError):
        text = None
    return (text or "aider").splitlines()[0][:200]


if __name__ == "__main__":
    raise SystemExit(main())
