"""What those have lost who see most of some charges, found by enumeration and by the sums."""

import random
from fractions import Fraction
from itertools import product

import pytest

from pandas_blowfish.books import part_sums
from pandas_blowfish.books.part_sums import Sums, read_part

SIZES = {"region": 4, "group": 3, "site": 2}


def random_part(source):
    """Return a random part of some blocks; sometimes everyone."""
    blocks = [block for block in SIZES if source.random() < 0.5]
    return {
        block: sorted(source.sample(range(SIZES[block]), source.randint(1, 3) % SIZES[block] or 1))
        for block in blocks
    }


def enumerated(charges):
    """Return for each combination of components what its people have lost, charge by charge."""
    lost = {}
    for place in product(*map(range, SIZES.values())):
        where = dict(zip(SIZES, place, strict=True))
        seen = (
            epsilon
            for epsilon, part in charges
            if all(where[block] in cells for block, cells in part.items())
        )
        lost[place] = sum(seen, Fraction(0))
    return lost


@pytest.mark.parametrize("seed", range(300))
def test_the_most_is_that_of_enumeration(seed):
    """Sums of random charges in random parts are those of the people who see them."""
    source, sums, charges = random.Random(seed), Sums(), []

    for _ in range(source.randint(1, 12)):
        charges.append((Fraction(source.randint(0, 9), source.randint(1, 9)), random_part(source)))
        sums.add(*charges[-1])

    truth = enumerated(charges)
    assert sums.most == max(truth.values())
    assert all(
        sums.lost({block: [cell] for block, cell in zip(SIZES, place, strict=True)}) == lost
        for place, lost in truth.items()
    )
    assert Sums.from_dict(sums.to_dict()) == sums


def test_without_room_a_charge_counts_for_more_people(monkeypatch):
    """Sums never fall below the truth where components are too many to keep one for each."""
    monkeypatch.setattr(part_sums, "MAX_PLACES", 6)
    for seed in range(100):
        source, sums, charges = random.Random(seed), Sums(), []

        for _ in range(10):
            charges.append((Fraction(1, source.randint(1, 9)), random_part(source)))
            sums.add(*charges[-1])

        assert len(sums.places) <= 6
        assert sums.most >= max(enumerated(charges).values())


def test_a_copy_is_added_to_alone():
    """A charge that is tried on a copy leaves the sums as they were."""
    sums = Sums()
    sums.add(Fraction(1), {"region": [0]})

    tried = sums.copy()
    tried.add(Fraction(1), {"region": [0, 1], "group": [2]})

    assert (sums.most, tried.most) == (1, 2)
    assert sums.named == {"region": [part_sums.REST, 0]}


@pytest.mark.parametrize(
    "wrong", [[], "all", {"a": []}, {"a": [2, 1]}, {"a": [1, 1]}, {"a": [-1]}, {"a": [True]}, {"a": 1}]
)
def test_what_is_no_part_is_refused(wrong):
    """A part lists components of blocks, each once and in order."""
    with pytest.raises(ValueError, match="not a part"):
        read_part(wrong)
