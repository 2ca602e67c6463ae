"""Score a strategy with the oracle, or calibrate the noise floor.

uv run evaluate.py                      # the checkout's strategy.py on the six VALID folds
uv run evaluate.py --split train        # free research; nothing is counted
uv run evaluate.py --calibrate          # the seed's score and the noise floor; with --scheduler on other machines
"""

from __future__ import annotations

from pathlib import Path

from autoquant import cli, scale
from autoquant.protocol import PROTOCOL


@cli.command
def main(argv: list[str] | None = None) -> int:
    """Parse the options and call the oracle."""
    parser = cli.parser("evaluate.py", __doc__ or "")
    parser.add_argument("strategy", nargs="?", type=Path, default=cli.HOME / "strategy.py", metavar="STRATEGY")
    parser.add_argument("--split", choices=("valid", "train"), help="which folds (default: valid)")
    parser.add_argument("--calibrate", action="store_true", help="measure and store the noise floor of these data")
    parser.add_argument(
        "--samples",
        type=cli.positive_int,
        metavar="N",
        help=f"with --calibrate: how many (default: {PROTOCOL.calibration.samples}; fewer is for trying out)",
    )
    parser.add_argument("--jobs", type=cli.positive_int, default=None, metavar="N", help="workers (default: all cores)")
    cli.add_home_options(parser)
    cli.add_json_option(parser)
    scale.add_options(parser)
    options = parser.parse_args(argv)
    if options.calibrate and options.split:
        parser.error("--calibrate measures on VALID: --split does not go with it")
    if options.samples and not options.calibrate:
        parser.error("--samples goes with --calibrate")
    scheduler = scale.scheduler_of(options)
    if scheduler and not options.calibrate:
        parser.error("--scheduler goes with --calibrate")

    from autoquant.arena.client.standalone import undecided
    from autoquant.oracle import command

    data = options.data_dir
    if options.calibrate:
        samples = options.samples or PROTOCOL.calibration.samples
        return command.calibrate(
            options.strategy, data, samples=samples, jobs=options.jobs, as_json=options.json, scheduler=scheduler
        )
    return command.evaluate(
        options.strategy,
        data,
        split=options.split or "valid",
        jobs=options.jobs,
        as_json=options.json,
        score_file=undecided,
    )


if __name__ == "__main__":
    raise SystemExit(main())
