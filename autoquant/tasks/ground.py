"""The data folder's indices as the ground that solutions are graded on."""

from __future__ import annotations

import contextlib
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import ConfigError, InfrastructureFault
from autoquant.market.indices import Bars, index_folder, load_manifest, load_part
from autoquant.sandbox import WarmParent
from autoquant.sealing import Seal
from autoquant.tasks import replay
from autoquant.tasks.grader import Ground
from autoquant.tasks.solution import LIMITS
from autoquant.tasks.spec import TaskSpec, task
from autoquant.tasks.truth import PUBLISHED, REFERENCE, Truth, reference_source, truth_of


def clean_parent(seal: Seal | None) -> WarmParent:
    """A process that solutions are forked from; it starts while the caller reads data. `seal` as in `WarmParent`."""
    return WarmParent(LIMITS, seal=seal)


def load_ground(data_root: Path, name: str, parent: WarmParent, *, believing: bool = True) -> Ground:
    """What a task is graded on.

    Parameters
    ----------
    believing : whether a truth that was worked out before is taken as it stands in the data folder. Agents of a race
        may be able to write there, and it has no digest in the manifest.

    Raises
    ------
    UserError : no such task. DataError : no index data, or damaged ones.
    InfrastructureFault : the reference solution could not be run.
    """
    spec, folder = task(name), index_folder(data_root)
    shown = load_part(folder, "shown")
    hidden = load_part(folder, "hidden") if spec.out_of_sample else Bars(shown.times[:0], shown.prices[:, :0])
    truth = None if spec.out_of_sample else _stored_truth(folder, parent, spec, shown, believing)
    return Ground(spec, shown, hidden, load_manifest(folder).source, truth)


def _stored_truth(folder: Path, parent: WarmParent, spec: TaskSpec, bars: Bars, believing: bool) -> Truth:
    """The truth on these bars, worked out once per data, specification, reference solution and replay."""
    rules = codec.dumps(spec).encode() + reference_source(spec.name) + Path(replay.__file__).read_bytes()
    key = files.sha256_bytes(rules + bars.digest.encode())
    path = folder / f"truth-{spec.name}-{key[:16]}.json"
    with contextlib.suppress(OSError, ConfigError):
        stored = codec.loads(Truth, path.read_bytes(), path.name)
        if believing and stored.origin in (PUBLISHED, REFERENCE) and set(stored.figures) == set(spec.tolerances):
            return stored
    truth = truth_of(parent, spec, bars)
    with contextlib.suppress(InfrastructureFault):  # a folder that may only be read: it is worked out again next time
        files.atomic_write(path, codec.dumps(truth) + "\n", durable=False)
    return truth
