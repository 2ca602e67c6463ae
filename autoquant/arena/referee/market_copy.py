"""What a worktree holds of the market: the TRAIN panel, and a manifest that says nothing about later years."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from autoquant import codec, files
from autoquant.clock import day_ms, ms_iso
from autoquant.market.manifest import Manifest, load_manifest
from autoquant.market.store import PanelHead
from autoquant.protocol import PROTOCOL


def train_files(data_directory: Path, cache: Path) -> list[tuple[str, Path]]:
    """(path in the worktree, file to copy) for a data root that `evaluate.py --split train` can use.

    The reduced head and manifest are written to `cache`, once per content.
    """
    folder = f"data/{data_directory.name}"
    head = codec.loads(PanelHead, (data_directory / "train.json").read_bytes(), "train.json")
    texts = {
        "current": f"{data_directory.name}\n",
        "train.json": codec.dumps(reduced_head(head), indent=1) + "\n",
        "manifest.json": codec.dumps(reduced_manifest(load_manifest(data_directory)), indent=1) + "\n",
    }
    for name, text in texts.items():
        path = cache / name
        if not path.is_file() or path.read_bytes() != text.encode():
            files.atomic_write(path, text)
    return [
        ("data/current", cache / "current"),
        (f"{folder}/manifest.json", cache / "manifest.json"),
        (f"{folder}/train.json", cache / "train.json"),
        (f"{folder}/train.npy", data_directory / "train.npy"),
    ]


def reduced_head(head: PanelHead) -> PanelHead:
    """The head of TRAIN without the end of a contract that outlived it."""
    end = head.first_ms + head.rows * head.bar_ms
    return dataclasses.replace(
        head, last_bar=tuple(ms if ms is not None and ms < end else None for ms in head.last_bar)
    )


def reduced_manifest(manifest: Manifest) -> Manifest:
    """TRAIN facts only: no file list, no pins of later splits, no gap after TRAIN, and never a synthetic seed."""
    end = ms_iso(day_ms(PROTOCOL.calendar.valid_start))
    return dataclasses.replace(
        manifest,
        files=(),
        contracts=(),
        gaps=tuple(gap for gap in manifest.gaps if gap.last < end),
        repairs=tuple(repair for repair in manifest.repairs if repair.day < end[:10]),
        funding_gaps=tuple(gap for gap in manifest.funding_gaps if gap.before < end),
        splits={name: pin for name, pin in manifest.splits.items() if name == "train"},
        lockbox=(),
        synthetic_seed=None,
    )
