"""Where the verifier's own data are, and what to fetch when they are not: the bundle holds hashes alone."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import AutoQuantError
from autoquant.ledger.views import RaceView
from autoquant.market import open_lockbox
from autoquant.market.archive import Progress
from autoquant.market.lockbox import LockboxRecord
from autoquant.market.manifest import ARCHIVE_SOURCE, Manifest, load_manifest
from autoquant.verify import evidence as ev
from autoquant.verify.evidence import Evidence, StateEvidence
from autoquant.verify.work import PanelSource


@dataclass(frozen=True)
class Found:
    """A panel to work on, or why there is none."""

    panel: PanelSource | None
    missing: str = ""


def valid_panel(evidence: Evidence, view: RaceView, data_root: Path) -> Found:
    """TRAIN and VALID of the race, from the verifier's data; a made-up market is made again."""
    pin, manifest = view.created.data, ev.manifest_of(evidence)
    if manifest is not None and manifest.is_synthetic:
        return Found(PanelSource(pin.valid, seed=manifest.synthetic_seed))
    found = _directory(data_root, pin.valid)
    if found is not None:
        return Found(PanelSource(pin.valid, str(found)))
    base = "" if pin.source == ARCHIVE_SOURCE else f" --base-url {shlex.quote(pin.source)}"  # a stranger's word
    return Found(
        None,
        f"needs TRAIN and VALID of {pin.source} (panel {pin.valid[:12]}, manifest {pin.manifest[:12]}), not found in "
        f"{data_root}: setup_data.py{base}",
    )


def sealed_panel(
    evidence: Evidence,
    view: RaceView,
    record: LockboxRecord,
    data_root: Path,
    sealed_dir: Path | None,
    on_progress: Progress | None = None,
) -> Found:
    """The sealed year behind TRAIN and VALID: made again, the race's own, in `sealed_dir`, or fetched there."""
    digest, manifest = record.panel.digest, ev.manifest_of(evidence)
    if manifest is not None and manifest.is_synthetic:
        return _made_up(evidence, manifest, digest)
    for folder in (sealed_dir, evidence.layout.lockbox if isinstance(evidence, StateEvidence) else None):
        if folder is not None and (folder / "lockbox.json").is_file():
            return Found(PanelSource(digest, str(folder), "lockbox"))
    count, source = len(record.files), record.base_url or record.source
    data_dir = _directory(data_root, view.created.data.valid)
    if sealed_dir is None or data_dir is None:
        first = "" if data_dir is not None else "TRAIN and VALID first, then "
        return Found(
            None,
            f"needs the sealed period: {count} archives from {source}, sha256 of each in {ev.MANIFEST} (lockbox) and "
            f"in the record (lockbox_fetched), panel {digest[:12]}; {first}--sealed-dir DIR fetches them",
        )
    try:
        open_lockbox(data_dir, sealed_dir, base_url=None, accept_changed=record.accept_changed, on_progress=on_progress)
    except AutoQuantError as error:
        return Found(None, f"the sealed period could not be fetched: {error.message}")
    return Found(PanelSource(digest, str(sealed_dir), "lockbox"))


def _made_up(evidence: Evidence, manifest: Manifest, digest: str) -> Found:
    content = evidence.read(ev.LOCKBOX_SEED)
    try:
        seed = int((content or b"").decode("ascii"), 16)
    except ValueError:
        return Found(None, f"{ev.LOCKBOX_SEED} is missing or damaged: the made-up sealed period cannot be made again")
    return Found(PanelSource(digest, split="lockbox", seed=manifest.synthetic_seed, lockbox_seed=seed))


def _directory(data_root: Path, valid: str) -> Path | None:
    """The data directory, at or below a root, whose manifest pins that panel."""
    for path in (data_root / "manifest.json", *sorted(data_root.glob("*/manifest.json"))):
        try:
            manifest = load_manifest(path.parent)
        except AutoQuantError:
            continue
        if "valid" in manifest.splits and manifest.splits["valid"].digest == valid:
            return path.parent
    return None
