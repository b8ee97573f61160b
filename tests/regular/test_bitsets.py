"""Sets of amounts, against sets of Python."""

from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from palaver.random_source import RandomSource
from palaver.regular.bitsets import BoundedSums, IteratedSums, TooExpensive, highest, lowest, members, repeated, split

LIMIT = 150

# Single ones, and runs, of which there are enough to be searched as text.
amounts = st.sets(st.integers(0, LIMIT), max_size=12) | st.builds(
    lambda step, width: {at for at in range(LIMIT + 1) if at % step < width}, st.integers(2, 9), st.integers(1, 4)
)


def as_mask(numbers: set[int]) -> int:
    return sum(1 << number for number in numbers)


def as_set(mask: int) -> set[int]:
    return set(members(mask, 0, mask.bit_length()))


@given(amounts)
def test_members_are_in_rising_order_and_none_is_missed(numbers: set[int]) -> None:
    mask = as_mask(numbers)
    assert members(mask, 0, LIMIT) == tuple(sorted(numbers))
    assert members(mask, 10, 20) == tuple(sorted(number for number in numbers if 10 <= number <= 20))
    assert members(mask, 20, 10) == ()
    assert lowest(mask) == min(numbers, default=-1)
    assert highest(mask, 40) == max((number for number in numbers if number <= 40), default=-1)


@given(amounts, amounts)
def test_sums_are_all_that_two_amounts_are_together_up_to_the_limit(one: set[int], other: set[int]) -> None:
    found = BoundedSums(LIMIT).sums(as_mask(one), as_mask(other))
    assert as_set(found) == {left + right for left in one for right in other if left + right <= LIMIT}


@given(st.integers(1, 40), st.integers(0, 12), st.none() | st.integers(0, 20))
def test_multiples_lie_between_their_bounds(step: int, least: int, most: int | None) -> None:
    last = LIMIT if most is None else most
    found = as_set(BoundedSums(LIMIT).multiples(step, least, most))
    assert found == {step * times for times in range(least, last + 1) if step * times <= LIMIT}


@given(st.sets(st.integers(0, 30), max_size=4), st.integers(0, 9), st.integers(1, 7))
def test_copies_are_shifted_against_each_other(numbers: set[int], distance: int, count: int) -> None:
    found = as_set(repeated(as_mask(numbers), distance, count))
    assert found == {number + distance * at for number in numbers for at in range(count)}


@settings(max_examples=examples(60))
@given(st.sets(st.integers(0, 30), min_size=1, max_size=4), st.integers(0, 5), st.integers(0, 1000))
def test_items_share_an_amount_so_that_each_gets_one_of_its_own(each: set[int], count: int, seed: int) -> None:
    powers = IteratedSums(BoundedSums(LIMIT), as_mask(each))
    together = {sum(items) for items in combinations_with_replacement(sorted(each), count)}
    assert as_set(powers.mask(count)) == together
    for amount in sorted(together)[:10] if count else []:
        shares = powers.share_out(amount, count, RandomSource(seed))
        assert (len(shares), sum(shares)) == (count, amount)
        assert each.issuperset(shares)


@given(amounts.filter(bool), amounts.filter(bool), st.integers(0, 1000), st.sampled_from([0.2, 1, 5]))
def test_a_split_leaves_the_right_what_it_can_have(left: set[int], right: set[int], seed: int, ratio: float) -> None:
    for amount in sorted({one + other for one in left for other in right})[:10]:
        share = split(as_mask(left), as_mask(right), amount, ratio, RandomSource(seed))
        assert share in left
        assert amount - share in right


def test_what_would_take_too_long_is_not_begun() -> None:
    scale = BoundedSums(1000, most_work=10_000)
    scattered = as_mask(set(range(0, 1000, 7)))
    with pytest.raises(TooExpensive):
        scale.sums(scattered, scattered)
    scale.begin()
    assert scale.sums(scattered, 1) == scattered
