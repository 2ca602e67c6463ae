"""What a race stands on, and its first records: created, seed scored, competitors joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from autoquant import codec, files
from autoquant.arena import protected
from autoquant.arena.show.climb import climbs
from autoquant.clock import Clock, utc_iso
from autoquant.environment import environment_here
from autoquant.errors import DataError, LedgerError, UserError
from autoquant.harness import Competitor, harness_of
from autoquant.ledger import records as r
from autoquant.ledger.layout import RESTORE, RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import RaceView
from autoquant.market.manifest import Manifest, data_directory, load_manifest, panel_problems, set_up_again
from autoquant.oracle.records import Judgement
from autoquant.protocol import PROTOCOL

if TYPE_CHECKING:
    from autoquant.oracle.calibrate import NoiseFloor

CALIBRATION = "calibration.json"
CALIBRATE = "run: evaluate.py --calibrate"
SEED = "seed"


class Screen(Protocol):
    """The one thing asked of the oracle here."""

    def screen(self, source: bytes, attempt: int) -> Judgement:
        """Evaluate at screen depth."""
        ...


@dataclass(frozen=True)
class Ground:
    """Checkout and data as they are now."""

    home: Path
    data_dir: Path
    manifest: Manifest
    protected: dict[str, str]
    code: str

    @property
    def pin(self) -> r.DataPin:
        """The data in the words of a race's first record."""
        splits = self.manifest.splits
        return r.DataPin(self.manifest.source, self.manifest.digest, splits["train"].digest, splits["valid"].digest)


def read_noise_floor(data_dir: Path) -> NoiseFloor:
    """The stored calibration.

    Raises
    ------
    DataError : absent or not readable.
    """
    from autoquant.oracle.calibrate import NoiseFloor

    path = data_dir / CALIBRATION
    try:
        content = path.read_bytes()
    except OSError:
        raise DataError(f"{path}: these data are not calibrated", CALIBRATE) from None
    try:
        return codec.loads(NoiseFloor, content, str(path))
    except UserError as error:
        raise DataError(error.message, CALIBRATE) from None


def calibration_problem(floor: NoiseFloor, manifest: Manifest, seed: bytes) -> str:
    """Why a stored calibration does not belong to this protocol, these data or this seed; empty when it does.

    The digest of the whole protected set is not asked for: a new report page moves no noise floor.
    """
    if floor.digests.protocol != PROTOCOL.digest:
        return "was made for another protocol"
    if floor.digests.data != manifest.splits["valid"].digest:
        return "was made for other data"
    if floor.digests.strategy != files.sha256_bytes(seed):
        return "was made with another strategy.py"
    return ""


def read_seed(home: Path) -> bytes:
    """The seed strategy of the checkout.

    Raises
    ------
    UserError : absent, a link, or too large.
    """
    try:
        return files.read_regular(home, "strategy.py", PROTOCOL.limits.strategy_bytes)
    except FileNotFoundError:
        raise UserError(f"{home / 'strategy.py'}: not found", "git checkout -- strategy.py") from None
    except files.NotRegularFile as error:
        raise UserError(error.message, "git checkout -- strategy.py") from None


def survey(home: Path, data_root: Path) -> Ground:
    """Look at what every race depends on, and refuse what would spoil it.

    Raises
    ------
    DataError : no data, or damaged data.
    Violation : a protected file of the checkout differs from protected.sha256.
    """
    protected.require(home)
    data_dir = data_directory(data_root)
    manifest = load_manifest(data_dir)
    problems = panel_problems(data_dir, manifest)
    if problems:
        raise DataError(problems[0], set_up_again(data_dir))
    return Ground(home, data_dir, manifest, protected.load(home), protected.code_digest(home))


def calibrated(ground: Ground) -> tuple[bytes, NoiseFloor]:
    """The seed strategy and the noise floor made with it, for a new race.

    Raises
    ------
    DataError : no calibration, or one for something else.
    """
    floor, seed = read_noise_floor(ground.data_dir), read_seed(ground.home)
    if problem := calibration_problem(floor, ground.manifest, seed):
        raise DataError(f"{ground.data_dir / CALIBRATION}: {problem}", CALIBRATE)
    return seed, floor


def admit(manifest: Manifest, kind: str, allow_source: str | None) -> str | None:
    """Whether a race of `kind` may run on these data; returns the source that had to be allowed by name.

    Raises
    ------
    DataError : synthetic data in a real race, real data in a demo, or another source that was not allowed by name.
    """
    if kind == "demo":
        if not manifest.is_synthetic:
            raise DataError(f"a demo runs on synthetic data only, these are from {manifest.source}")
        return None
    if manifest.is_synthetic:
        raise DataError(
            "these data are synthetic: no real race can run on them",
            "arena.py demo runs one of its own kind; setup_data.py fetches real data",
        )
    if allow_source is not None and allow_source != manifest.source:
        raise DataError(
            f"--allow-source {allow_source}: the data are from {manifest.source}",
            "leave it out" if manifest.is_real else f"--allow-source {manifest.source}, or set up the other data",
        )
    if manifest.is_real:
        return None
    if allow_source is None:
        raise DataError(
            f"the data are from {manifest.source}, not from the public archive",
            f"--allow-source {manifest.source} lets them race; the record and every page will say so",
        )
    return manifest.source


def create(
    layout: RaceLayout,
    ground: Ground,
    *,
    kind: str,
    budget: int,
    allow_source: str | None,
    isolation: str,
    secret: bytes,
    clock: Clock,
) -> Ledger:
    """Write a new race's secret, seed and first record. Its noise floor is a copy of the data's calibration.

    Parameters
    ----------
    kind : `race` or `demo`.
    budget : experiments per competitor.
    allow_source : what the user allowed by name, if anything.
    isolation : the level, in the record's words.
    secret : 32 random bytes; masks and cuts derive from it.
    """
    allowed = admit(ground.manifest, kind, allow_source)
    source, floor = calibrated(ground)
    seed = files.sha256_bytes(source)
    files.atomic_write(layout.secret, secret.hex() + "\n", mode=0o600)
    files.atomic_write(layout.blob(seed), source)
    files.atomic_write(layout.manifest, codec.dumps(ground.manifest, indent=1) + "\n")
    files.atomic_write(layout.calibration, codec.dumps(floor) + "\n")
    ledger = Ledger.open(layout.ledger)
    ledger.append(
        r.RaceCreated(
            race=layout.race,
            kind=kind,
            protocol=PROTOCOL.digest,
            protected=ground.protected,
            code=ground.code,
            data=ground.pin,
            noise_floor=floor.value,
            noise_floor_samples=floor.samples,
            noise_floor_digest=floor.digest,
            secret_digest=files.sha256_bytes(secret),
            seed_strategy=seed,
            budget=budget,
            allow_source=allowed,
            isolation=isolation,
            environment=environment_here(),
        ),
        utc_iso(clock.now()),
    )
    return ledger


def require_same_ground(view: RaceView, ground: Ground) -> None:
    """A race goes on only on what it began with.

    Raises
    ------
    DataError : other data are set up now.
    UserError : another version of the code is checked out, or another protocol.
    """
    created = view.created
    if created.data != ground.pin:
        raise DataError(
            f"race {created.race} runs on data of {created.data.source} (manifest {created.data.manifest[:8]}…), "
            f"current are {ground.manifest.source} ({ground.manifest.digest[:8]}…)",
            "set up the race's own data again, or start another race: --race NAME",
        )
    if created.protocol != PROTOCOL.digest:
        raise UserError(f"race {created.race} began under another protocol", "check out the version it began with")
    differences = protected.compare(created.protected, ground.protected)
    if differences:
        raise UserError(
            f"{differences[0].path}: {differences[0].kind} since race {created.race} began",
            "check out the version it began with, or start another race: --race NAME",
        )


def read_secret(layout: RaceLayout, view: RaceView) -> bytes:
    """The race's secret, held against its digest in the record.

    Raises
    ------
    LedgerError : lost or changed.
    """
    try:
        secret = bytes.fromhex(layout.secret.read_text(encoding="ascii"))
    except (OSError, ValueError):
        raise LedgerError(f"{layout.secret}: the race's secret is lost or damaged", RESTORE) from None
    if files.sha256_bytes(secret) != view.created.secret_digest:
        raise LedgerError(f"{layout.secret}: differs from the digest in the race's first record", RESTORE)
    return secret


def score_seed(layout: RaceLayout, ledger: Ledger, judge: Screen, seed: bytes, clock: Clock) -> None:
    """Evaluate the seed as attempt 0, once per race.

    Raises
    ------
    UserError : the seed gets no score.
    """
    if ledger.view.seed is not None:
        return
    evaluation = judge.screen(seed, 0).evaluation
    if evaluation.score is None:
        fault = f" ({evaluation.fault.kind}, line {evaluation.fault.line})" if evaluation.fault else ""
        raise UserError(f"strategy.py: the seed gets no score, it is {evaluation.outcome}{fault}", "run: evaluate.py")
    data = codec.dumps(evaluation).encode()
    files.atomic_write(layout.evaluation(SEED, 0), data)
    ledger.append(r.SeedScored(files.sha256_bytes(data), evaluation.score), utc_iso(clock.now()))


def write_metrics(layout: RaceLayout, view: RaceView) -> None:
    """recursion_metrics.json from the record: how each competitor climbed."""
    if view.seed is not None:
        files.atomic_write(layout.metrics, codec.dumps(climbs(view), indent=1) + "\n")


def join(
    ledger: Ledger,
    competitors: Sequence[Competitor],
    budget: int,
    clock: Clock,
    task_of: Callable[[str], str] = lambda name: "",
) -> None:
    """Enter new competitors; after the lockbox as extensions, judged on VALID only for ever.

    Parameters
    ----------
    budget : of those without one of their own.
    task_of : in the graded track, the task of the competitor of that name.

    Raises
    ------
    UserError : the race was exported, and with it the secret that masks its markets.
    """
    view = ledger.view
    if ledger.path.with_name("exported").exists() and any(c.name not in view.competitors for c in competitors):
        raise UserError(
            f"race {view.created.race} was exported, and its secret with it: nobody joins it any more",
            "start another race: --race NAME",
        )
    for competitor in competitors:
        if competitor.name in view.competitors:
            continue
        ledger.append(
            r.CompetitorJoined(
                competitor=competitor.name,
                harness=competitor.harness,
                model=competitor.model or None,
                effort=competitor.effort or None,
                colour=competitor.colour,
                budget=competitor.budget or budget,
                seed=competitor.seed,
                extension=view.lockbox.is_reserved,
                group=competitor.group,
                endpoint=competitor.base_url,
                args=competitor.args,
                settings=harness_of(competitor).settings,
                task=task_of(competitor.name),
            ),
            utc_iso(clock.now()),
        )
