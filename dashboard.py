"""Draw the report of a race: one offline page.

uv run dashboard.py                          # newest race, to docs/index.html
uv run dashboard.py --race autumn --out autumn.html
uv run dashboard.py --watch                  # again every 60 s, until Ctrl-C

Without a race it shows the experiments that run.py journalled in results.tsv. It changes nothing but the page.
"""

from __future__ import annotations

from pathlib import Path

from autoquant import cli


@cli.command
def main(argv: list[str] | None = None) -> int:
    """Parse the options and draw."""
    parser = cli.parser("dashboard.py", __doc__ or "")
    parser.add_argument(
        "--out", type=Path, default=cli.HOME / "docs" / "index.html", metavar="FILE", help="default: docs/index.html"
    )
    parser.add_argument("--race", metavar="NAME", help="default: the race created last")
    parser.add_argument("--watch", action="store_true", help="draw again every 60 s; the open page follows")
    cli.add_home_options(parser, state=True)
    cli.add_json_option(parser)
    options = parser.parse_args(argv)
    cli.one_blas_thread()

    from autoquant.clock import SystemClock
    from autoquant.ledger.races import require_races
    from autoquant.report import Drawn, redraw, render_report

    require_races(options.state_dir)

    def draw() -> Drawn:
        source = _source(options.data_dir)
        return render_report(
            options.state_dir, options.race, options.out, home=cli.HOME, source=source, watched=options.watch
        )

    if options.watch:
        cli.note(f"drawing {options.out} every 60 s; Ctrl-C ends it")
        redraw(draw, SystemClock(), cli.note)
    drawn = draw()
    if options.json:
        cli.emit_json({"page": str(drawn.path), **drawn.facts})
    else:
        print(drawn.path)
    return 0


def _source(data_root: Path) -> str | None:
    """Name of the data set up now, for the journal; None when there is none."""
    from autoquant.errors import DataError
    from autoquant.market import data_directory, load_manifest

    try:
        return load_manifest(data_directory(data_root)).source
    except DataError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
