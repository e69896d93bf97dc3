"""YAML is read within limits, key by key, and what is written is read back."""

import time

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import SchemaError
from pandas_blowfish.policy.serialise import MAX_TEXT, dump_yaml, parse_yaml

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{key}: &{key} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, key in zip("abcdefgh", "bcdefghi", strict=True)
)
LARGE = {
    "aliases": (BOMB, "alias"),
    "an anchor alone": ("a: &a 1", "anchor"),
    "a merge": ("a: {<<: {b: 1}}", "merge"),
    "a merge by its tag": ("!!merge x: {b: 1}", "merge"),
    "lists in lists": ("[" * 5_000, "in each other"),
    "items in items": ("- " * 5_000, "in each other"),
    "keys in keys": ("{a: " * 5_000, "in each other"),
    "a number in base 60": ("a: 1" + ":1" * 60_000, "number"),
    "a number of many digits": ("a: 0x" + "f" * 50_000, "number"),
    "a long text": ("a" * (MAX_TEXT + 1), "limit"),
}


@pytest.mark.parametrize(("text", "said"), LARGE.values(), ids=LARGE)
def test_what_would_grow_is_refused_at_once(text, said):
    """Aliases, merges, depth and length are typed errors within 100 ms."""
    parse_yaml("a: 1")  # what is imported once does not count
    begun = time.process_time()

    with pytest.raises(SchemaError, match=said):
        bf.Policy.from_yaml(text)

    assert time.process_time() - begun < 0.1


BREAKS = ["a\x85b", "\x85", "a\u2028b\u2029", "x\r\ny", "'\x85\"", "long \x85 " * 40, "=1"]


@pytest.mark.parametrize("text", BREAKS)
def test_line_breaks_of_all_kinds_survive(text):
    """What is written is read back exactly: names, values and groups."""
    column = {"type": "string", "values": [text, "other"]}
    column |= {"secret": {"secret": "partition", "groups": {text: [text, "other"]}}}
    policy = bf.Policy.from_dict({"blowfish": 1, "columns": {f"c{text}": column}})

    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert parse_yaml(dump_yaml({text: [text]}, default_flow_style=True)) == {text: [text]}


def test_shared_parts_are_written_out():
    """No aliases are written, as none are read."""
    shared = ["x", "y"]

    assert parse_yaml(dump_yaml({"a": shared, "b": shared})) == {"a": shared, "b": shared}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a:\n  secret: full\n  min: 0\n  secret: public\n",
            "the key `secret` is there twice, on lines 2 and 4",
        ),
        ("a: {x: 1}\nb: {}\n'a': {x: 2}\n", "the key `a` is there twice, on lines 1 and 3"),
        ("{x: 1, x: 1}", "the key `x` is there twice, on lines 1 and 1"),
        ("- {1: a, 0x1: b}", "the key `0x1` is there twice"),
    ],
)
def test_a_key_is_there_once(text, said):
    """A second key would win over the one that a reader sees."""
    with pytest.raises(SchemaError) as refused:
        parse_yaml(text)

    assert said in str(refused.value)


NOT_YAML = ["a: [1", "2020-99-99: 1", "a: !x 1", "? [a]\n: 1", "a: \x00", "a: !!int ''", "a: !!bool x"]


@pytest.mark.parametrize("text", NOT_YAML)
def test_what_is_no_yaml_is_a_schema_error(text):
    """Whatever the parser stumbles over is told as ours."""
    with pytest.raises(SchemaError, match="YAML cannot be read"):
        parse_yaml(text)
