"""`arena.py export` and `arena.py verify`: options and what they do."""

from __future__ import annotations

import argparse
import getpass
import os
import re
from dataclasses import replace
from pathlib import Path

from autoquant import cli, scale
from autoquant.errors import AutoQuantError, InfrastructureFault
from autoquant.sealing import Level
from autoquant.verify.private import Private

Options = argparse.Namespace

EXPORT = """Pack a finished race into one file: record, evaluations, score files, strategies, accepted commits, hashes
of data and code, and the secret behind its masks. No prices, no session logs, no keys.

Refused while a competitor may go on or the lockbox is not closed. Afterwards nobody joins the race any more, since its
secret is out. The same race gives the same bytes. A bundle of the graded track: --state-dir state/tasks."""

VERIFY = """Check a bundle from anybody, or a race of your own, without trusting who ran it: chain, files, budgets,
every decision, accepted commits, lockbox; then the noise floor is measured, and the seed, every accepted attempt and
every lockbox entry are evaluated again on your own data, to the last digit.

Exit code: 0 everything holds, 1 something is false, 2 not everything could be checked (each line says why), 4 this
machine failed and nothing is said."""


def add_export(sub: argparse.ArgumentParser) -> None:
    """Options of `export`."""
    sub.add_argument("file", type=Path, metavar="FILE", help="where to write the bundle")
    sub.add_argument("--race", metavar="NAME", help="the race to pack (default: the newest)")
    sub.add_argument("--with-places", action="store_true", help="also when texts name this machine's folders or login")
    cli.add_home_options(sub, state=True)
    cli.add_json_option(sub)


def add_verify(sub: argparse.ArgumentParser) -> None:
    """Options of `verify`."""
    sub.add_argument("what", metavar="FILE|RACE", help="a bundle, or the name of a race below --state-dir")
    sub.add_argument("--full", action="store_true", help="evaluate every attempt again, not the accepted ones alone")
    sub.add_argument(
        "--head",
        type=head_digest,
        metavar="DIGEST",
        help="a line's digest, as a published page names the record's head",
    )
    sub.add_argument(
        "--sealed-dir", type=Path, metavar="DIR", help="where the sealed archives are, or are fetched to when missing"
    )
    sub.add_argument("--jobs", type=cli.positive_int, metavar="N", help="evaluations at a time (default: all cores)")
    scale.add_options(sub)
    cli.add_home_options(sub, state=True)
    cli.add_json_option(sub)


def head_digest(text: str) -> str:
    """A digest of a line, or at least its first eight digits, as people copy it.

    >>> head_digest("2098BE62D94A…")
    '2098be62d94a'
    """
    digest = text.strip().rstrip("….").lower()
    if not re.fullmatch(r"[0-9a-f]{8,64}", digest):  # else a slip of the hand would call a true race false
        raise argparse.ArgumentTypeError(f"{text!r} is no digest: 8 to 64 digits of 0-9 and a-f")
    return digest


def export(options: Options) -> int:
    """Run `export`."""
    from autoquant.errors import UserError
    from autoquant.ledger.layout import RaceLayout
    from autoquant.ledger.races import race_names
    from autoquant.verify.export import export as pack

    names = race_names(options.state_dir)
    race = options.race or next(reversed(names), None)
    if race is None or race not in names:
        raise UserError(
            f"no race {race or ''} in {options.state_dir}".replace("  ", " "),
            f"there are: {', '.join(names)}" if names else "arena.py start makes one",
        )
    done = pack(
        RaceLayout(options.state_dir, race),
        options.file,
        home=cli.HOME,
        data_root=options.data_dir,
        private=_private(options),
        with_places=options.with_places,
    )
    for notice in done.notices:
        cli.note(f"note: {notice}")
    if options.json:
        cli.emit_json(done)
    else:
        print(cli.printable(f"{done.path}  {done.bytes:,} bytes, {done.pieces} pieces\nsha256 {done.sha256}"))
        print(f"record {done.head}")
    return 0


def verify(options: Options) -> int:
    """Run `verify`; returns its exit code."""
    from autoquant import codec
    from autoquant.sandbox import strategy_level
    from autoquant.verify.records import as_text
    from autoquant.verify.verify import VerifyOptions, verify_what

    asked = VerifyOptions(
        home=cli.HOME,
        data_root=options.data_dir,
        full=options.full,
        sealed_dir=options.sealed_dir,
        head=options.head,
        jobs=options.jobs,
        progress=cli.progress,
    )
    if (scheduler := scale.scheduler_of(options)) is not None:
        from autoquant.verify.elsewhere import evaluate_there, pool_at

        asked = replace(asked, evaluator=evaluate_there, pool=pool_at(scheduler))
    else:
        level, why = strategy_level()
        if level is not Level.SEALED:
            cli.note(f"note: strategies of strangers run here at the {level} level, not sealed ({why}): docs/trust.md")
    try:
        answer = verify_what(options.what, options.state_dir, asked)
    except (AutoQuantError, OSError):
        raise
    except Exception as error:  # must not end with 1, which says that the race is false
        if options.debug:
            raise
        told = f"verify could not go on: {type(error).__name__}: {cli.one_line(str(error))}"
        raise InfrastructureFault(told, "nothing is said about the race; --debug shows where") from error
    if options.json:
        cli.emit_json({**codec.encode(answer), "verdict": answer.verdict, "exit_code": answer.exit_code})
    else:
        print(cli.printable(as_text(answer)))
    return answer.exit_code


def _private(options: Options) -> Private:
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = ""
    folders = (Path(os.path.expanduser("~")), cli.HOME, options.state_dir.absolute(), options.data_dir.absolute())
    return Private(dict(os.environ), tuple(dict.fromkeys(folders)), login)
