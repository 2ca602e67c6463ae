"""Run one experiment: check the protected files, submit strategy.py, print the verdict.

python run.py -m "rank by funding-adjusted momentum"   # judge strategy.py
python run.py --from stable                            # start the next mutation from an archive tip

In a race's worktree the arena judges and counts; elsewhere strategy.py is judged in place and ./results.tsv grows.
In a folder of the graded track it is solution.py, and --final hands it in for good.
"""

from __future__ import annotations

from autoquant import cli


@cli.command
def main(argv: list[str] | None = None) -> int:
    """Parse the options and submit."""
    parser = cli.parser("run.py", __doc__ or "")
    parser.add_argument("-m", "--message", default="", metavar="TEXT", help="what this experiment tries, in one line")
    parser.add_argument(
        "--from",
        dest="lineage",
        choices=("best", "stable", "cost_robust", "distinct"),
        help="put that archive tip into strategy.py; nothing is judged or charged",
    )
    parser.add_argument("--task", metavar="NAME", help="graded track: the task this folder is for")
    parser.add_argument("--final", action="store_true", help="graded track: hand solution.py in for good")
    cli.add_home_options(parser)
    cli.add_json_option(parser)
    options = parser.parse_args(argv)
    if options.lineage and options.message:
        parser.error("--from judges nothing, so -m does not go with it: restore, edit, then run.py -m TEXT")

    from autoquant.arena.client.submit import answer_text, run_experiment

    answers = run_experiment(
        cli.HOME,
        description=options.message,
        lineage=options.lineage,
        data_root=options.data_dir,
        task=options.task,
        final=options.final,
        say=cli.note,
    )
    if options.json:
        cli.emit_json(answers.reply)
    else:
        print(cli.printable(answer_text(answers)))
    return answers.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
