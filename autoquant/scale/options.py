"""The options of every command that can hand its work to other machines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoquant.errors import UserError

if TYPE_CHECKING:
    from autoquant.scale.address import Scheduler


def add_options(target: argparse.ArgumentParser) -> None:
    """--scheduler and its certificates."""
    group = target.add_argument_group("many machines", "the work goes to a Dask scheduler's workers: docs/scale.md")
    group.add_argument("--scheduler", metavar="URL", help="tcp://127.0.0.1:PORT, or tls://HOST:PORT")
    group.add_argument("--tls-ca-file", type=Path, metavar="FILE", help="the authority that signed the certificates")
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="this side's certificate")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="its key")


def scheduler_of(options: argparse.Namespace) -> Scheduler | None:
    """What the options say; None for this machine alone.

    Raises
    ------
    UserError : see `Scheduler.parse`; certificates or --jobs that go with something else.
    """
    from autoquant.scale.address import Certificates, Scheduler

    certificates = Certificates(options.tls_ca_file, options.tls_cert, options.tls_key)
    if options.scheduler is None:
        if certificates != Certificates():
            raise UserError("--tls-ca-file, --tls-cert and --tls-key go with --scheduler tls://…")
        return None
    if getattr(options, "jobs", None) is not None:
        raise UserError("--jobs counts workers here: with --scheduler the workers' own --nthreads does")
    return Scheduler.parse(options.scheduler, certificates)
