"""A worker's folder of data: whole under its digest, or fetched again."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoquant.scale.parcels import Stock, Store, parcel_of_files


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    for name in ("valid.json", "valid.npy"):
        (tmp_path / name).write_text(f"content of {name}")
    return parcel_of_files("panel", {name: tmp_path / name for name in ("valid.json", "valid.npy")})


def send(stock: Stock, store: Store, *, damage: bytes | None = None) -> bool:
    for piece, offset, chunk in stock.chunks():
        store.receive(stock.parcel, piece, offset, damage or chunk, "a sender")
    return store.finish(stock.parcel, "a sender")


def test_bytes_that_do_not_carry_their_digest_are_not_kept(stock: Stock, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert not send(stock, store, damage=b"something else")
    assert store.folder(stock.parcel) is None
    assert [] == list(store.root.iterdir())


@pytest.mark.parametrize("name", ["valid.json", "valid.npy"])
def test_a_copy_that_lost_a_file_is_replaced(stock: Stock, tmp_path: Path, name: str) -> None:
    root = tmp_path / "store"
    assert send(stock, Store(root))
    (root / stock.parcel.digest / name).unlink()
    assert Store(root).folder(stock.parcel) is None
    assert send(stock, Store(root))
    assert root / stock.parcel.digest == Store(root).folder(stock.parcel)
    assert [stock.parcel.digest] == [path.name for path in root.iterdir()]


def test_a_second_sender_leaves_the_copy_that_is_there(stock: Stock, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert send(stock, store)
    before = (store.root / stock.parcel.digest).stat().st_ino
    assert send(stock, store)
    assert before == (store.root / stock.parcel.digest).stat().st_ino
    assert [stock.parcel.digest] == [path.name for path in store.root.iterdir()]
