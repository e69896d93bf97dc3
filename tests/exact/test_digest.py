"""Keyed digests: parts are told apart, keys matter."""

from pandas_blowfish.exact.digest import keyed_digest, seal_digest


def test_parts_are_separated_by_their_lengths():
    """Text that moves from one part to the next changes the digest."""
    assert keyed_digest(b"k", "ab", "c") != keyed_digest(b"k", "a", "bc")


def test_another_key_gives_another_digest():
    """Nothing can be recomputed without the key."""
    assert keyed_digest(b"k", "a") != keyed_digest(b"l", "a")
    assert seal_digest("00", "count", "5") != seal_digest("01", "count", "5")


def test_a_seal_is_the_digest_of_its_own_kind():
    """Seals are digests under the word seal, cut to 32 characters."""
    assert seal_digest("00ff", "a") == keyed_digest(bytes.fromhex("00ff"), "seal", "a")[:32]
