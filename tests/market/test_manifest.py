"""Manifests and data directories."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autoquant.errors import DataError
from autoquant.market import data_directory, load_manifest, make_synthetic
from autoquant.market.manifest import directory_name, manifest_path, save_manifest, set_current, source_of


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_synthetic(tmp_path_factory.mktemp("data"), 4)


def test_a_manifest_comes_back_as_it_was(synthetic: Path, tmp_path: Path):
    manifest = load_manifest(synthetic)
    save_manifest(tmp_path, manifest)
    assert manifest == load_manifest(tmp_path)
    assert manifest.digest == load_manifest(tmp_path).digest


def test_the_digest_leaves_out_when_it_was_made_and_nothing_else(synthetic: Path):
    manifest = load_manifest(synthetic)
    assert manifest.digest == replace(manifest, created="1999-01-01T00:00:00Z").digest
    assert manifest.digest != replace(manifest, synthetic_seed=5).digest


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not valid JSON"),
        ("{}", "is missing"),
        ('{"schema_version": NaN}', "not valid JSON"),
    ],
)
def test_a_broken_manifest_is_refused_by_name(tmp_path: Path, content: str, said: str):
    manifest_path(tmp_path).write_text(content)
    with pytest.raises(DataError, match=rf"manifest\.json.*{said}"):
        load_manifest(tmp_path)


def test_a_manifest_of_another_schema_or_with_an_unknown_key_is_refused(synthetic: Path, tmp_path: Path):
    data = json.loads(manifest_path(synthetic).read_text())
    manifest_path(tmp_path).write_text(json.dumps(data | {"schema_version": 99}))
    with pytest.raises(DataError, match="schema 99"):
        load_manifest(tmp_path)
    manifest_path(tmp_path).write_text(json.dumps(data | {"extra": 1}))
    with pytest.raises(DataError, match="unknown key 'extra'"):
        load_manifest(tmp_path)


def test_an_absent_manifest_says_what_to_do(tmp_path: Path):
    with pytest.raises(DataError, match="set-up is not complete") as caught:
        load_manifest(tmp_path)
    assert "run setup_data.py" == caught.value.hint


@pytest.mark.parametrize(
    ("url", "source", "folder"),
    [
        ("https://data.binance.vision", "binance-archive", "binance-archive"),
        ("https://data.binance.vision/", "binance-archive", "binance-archive"),
        ("http://127.0.0.1:8777/", "http://127.0.0.1:8777", "127.0.0.1-8777"),
        ("http://host/a/../b", "http://host/a/../b", "host-a-..-b"),
        ("http://synthetic", "http://synthetic", "host-synthetic"),
        ("http://binance-archive", "http://binance-archive", "host-binance-archive"),
    ],
)
def test_each_source_has_a_directory_of_its_own(url: str, source: str, folder: str):
    assert (source, folder) == (source_of(url), directory_name(source_of(url)))


def test_the_current_directory_is_the_one_set_up_last(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        set_current(tmp_path, tmp_path / name)
    assert tmp_path / "b" == data_directory(tmp_path)


@pytest.mark.parametrize("pointer", [None, "", "gone", "../elsewhere", "/"])
def test_a_pointer_that_names_no_data_directory_is_refused(tmp_path: Path, pointer: str | None):
    root = tmp_path / "root"
    (tmp_path / "elsewhere").mkdir()
    root.mkdir()
    if pointer is not None:
        (root / "current").write_text(pointer)
    with pytest.raises(DataError, match=r"no market data is set up|not a data directory"):
        data_directory(root)
