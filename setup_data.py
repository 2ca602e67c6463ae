"""Set up market data: download and pin the public archive, or make a synthetic market.

uv run setup_data.py                          # the public archive; run again to go on
uv run setup_data.py --base-url http://127.0.0.1:8777   # a mirror of its layout
uv run setup_data.py --verify                 # recheck the disk against the manifest
uv run setup_data.py --synthetic --force      # a made-up market for a smoke test, never a result
uv run setup_data.py --indices nifty=FILE banknifty=FILE    # minute bars for the graded track
"""

from __future__ import annotations

from autoquant import cli


@cli.command
def main(argv: list[str] | None = None) -> int:
    """Parse the options and set up, or verify."""
    target = cli.parser("setup_data.py", __doc__ or "")
    target.add_argument("--base-url", metavar="URL", help="a mirror (default: the public archive)")
    target.add_argument("--jobs", type=cli.positive_int, metavar="N", help="downloads at a time (default 8)")
    target.add_argument("--keep-raw", action="store_true", help="keep VALID's archives after packing")
    target.add_argument("--verify", action="store_true", help="recheck what is on disk, download nothing")
    target.add_argument("--synthetic", action="store_true", help="make a synthetic market instead")
    target.add_argument("--force", action="store_true", help="with --synthetic: overwrite a synthetic market")
    target.add_argument("--seed", type=cli.seed_number, metavar="N", help="with --synthetic: another market")
    target.add_argument(
        "--indices", nargs="*", metavar="NAME=FILE",
        help="graded track: nifty=FILE banknifty=FILE (CSV or parquet, minutes, IST); with --synthetic a made-up pair",
    )  # fmt: skip
    target.add_argument("--split", metavar="DAY", help="with --indices: first hidden day (default 2023-01-01)")
    cli.add_home_options(target)
    cli.add_json_option(target)
    options = target.parse_args(argv)
    if options.indices is None and options.split:
        target.error("--split goes with --indices")
    if options.indices is not None and (
        options.base_url or options.jobs or options.keep_raw or options.verify or options.force
    ):
        target.error("--indices goes with --split, --synthetic and --seed only")
    if options.synthetic and (options.base_url or options.keep_raw or options.jobs):
        target.error("--synthetic downloads nothing: --base-url, --keep-raw and --jobs do not go with it")
    if options.verify and (options.force or options.keep_raw or options.jobs or options.seed is not None):
        target.error("--verify only reads: --force, --keep-raw, --jobs and --seed do not go with it")
    if not options.synthetic and options.seed is not None:
        target.error("--seed goes with --synthetic")
    from autoquant.market import index_setup, setup  # late: --help stays fast

    summary: setup.Summary | index_setup.IndexSummary
    if options.indices is not None:
        summary = index_setup.set_up_indices(
            options.data_dir, options.indices, split=options.split, synthetic=options.synthetic, seed=options.seed
        )
    elif options.verify:
        summary = setup.verified(options.data_dir, base_url=options.base_url, synthetic=options.synthetic)
    elif options.synthetic:
        summary = setup.set_up_synthetic(options.data_dir, seed=options.seed, force=options.force)
    elif options.force:
        setup.refuse_force()
    else:
        with cli.progress("archives", unit="months") as update:
            summary = setup.set_up(
                options.data_dir,
                base_url=options.base_url,
                jobs=options.jobs or 8,
                keep_raw=options.keep_raw,
                on_progress=update,
            )
    if options.json:
        cli.emit_json(summary)
    else:
        print(summary.text())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(None))
