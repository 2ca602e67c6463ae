import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from autoquant.oracle.draws import Draws, cut_key


def test_a_stream_follows_from_key_and_labels_alone() -> None:
    one = Draws(bytes(32), "mask", 1, 0)
    assert [14, 9, 5, 6] == [one.below(20) for _ in range(4)]
    again, other = Draws(bytes(32), "mask", 1, 0), Draws(bytes(32), "mask", 2, 0)
    assert [14, 9, 5, 6] == [again.below(20) for _ in range(4)]
    assert [14, 9, 5, 6] != [other.below(20) for _ in range(4)]


def test_a_cut_key_depends_on_secret_attempt_and_strategy() -> None:
    keys = {cut_key(bytes(32), 1, "a"), cut_key(bytes(32), 2, "a"), cut_key(bytes(32), 1, "b"), cut_key(b"x", 1, "a")}
    assert 4 == len(keys)


@given(st.integers(1, 60), st.binary(min_size=1, max_size=4))
def test_a_shuffle_is_a_permutation(count: int, key: bytes) -> None:
    assert list(range(count)) == sorted(Draws(key).shuffled(count))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(0, 40), st.binary(max_size=2))
def test_weighted_draws_differ_and_take_positive_weights_first(weights, count, key) -> None:
    values = np.array(weights)
    drawn = Draws(key).weighted(values, count)
    assert min(count, len(values)) == len(set(drawn.tolist()))
    positive = int((values > 0).sum())
    assert (values[drawn[:positive]] > 0).all()


def test_weighted_draws_follow_their_weights() -> None:
    first = [int(Draws(bytes([i]), i).weighted(np.array([1.0, 3.0, 0.0, np.nan]), 1)[0]) for i in range(200)]
    assert set(first) == {0, 1}
    assert 0.65 < np.mean(first) < 0.85
