"""The plain form of a policy: what a person may write in YAML, and what is refused."""

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, SchemaError, SecretError
from pandas_blowfish.policy.secret import KINDS_OF_SECRET, keys_of
from pandas_blowfish.policy.serialise import SECRET, read_form, to_form

TEXT = """
blowfish: 1
columns:
  age: {type: integer, min: 0, max: 99, secret: {secret: threshold, theta: 5}}
  income:
    type: float
    min: 0
    max: 1e3
    step: 0.25
    exclusive_max: true
    secret: {secret: partition, groups: {width: 10}}
  when: {type: datetime, min: 2020-01-01, max: 2020-12-31, step: 1D, secret: {secret: threshold, theta: 12h}}
  disease:
    type: category
    values: [flu, cold, angina]
    nullable: true
    secret: {secret: partition, groups: {flu: lung, cold: lung, angina: heart}}
  region: {type: string, values: ["yes", "no"], secret: public}
  smoker: {type: bool}
constraints:
  - {fact: marginal, columns: [region], answer: {"yes": 3, "no": 4}}
"""


def test_hand_written_yaml_is_read():
    """Short forms a person writes are the policy they mean."""
    policy = bf.Policy.from_yaml(TEXT)

    assert policy.domain.shape == (100, 4000, 366, 4, 2, 2)
    assert policy.distance({"age": 0}, {"age": 99}) == 20
    assert policy.distance({"disease": "flu"}, {"disease": "cold"}) == 1
    assert policy.public_columns == {"region"}
    assert policy.secrets[("smoker",)]["secret"] == "full"
    assert policy.constraints == (bf.Marginal("region", answer={"yes": 3, "no": 4}),)
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy


def test_the_form_is_the_policy_parts():
    """Writing the parts and reading them give the same form."""
    policy = bf.Policy.from_yaml(TEXT)

    form = to_form(policy.domain, policy.secrets, policy.neighbors, policy.presence, policy.constraints)

    assert form == policy.to_dict()
    assert set(form) == {"blowfish", "columns", "constraints"}
    assert read_form(form)["schema"] == policy.domain


AGE = {"type": "integer", "min": 0, "max": 9}


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        "text",
        {},
        {"blowfish": 2, "columns": {"a": AGE}},
        {"blowfish": 1},
        {"blowfish": 1, "columns": ["a"]},
        {"blowfish": 1, "columns": {"a": 5}},
        {"blowfish": 1, "columns": {5: AGE}},
        {"blowfish": 1, "columns": {"a": AGE}, "colums": {}},
        {"blowfish": 1, "columns": {"a": {**AGE, "secrets": "full"}}},
        {"blowfish": 1, "columns": {"a": {**AGE, "secret": "hidden"}}},
        {"blowfish": 1, "columns": {"a": {**AGE, "secret": 5}}},
        {"blowfish": 1, "columns": {"a": AGE}, "joint": [5]},
        {
            "blowfish": 1,
            "columns": {"a": AGE},
            "joint": [{"columns": ["a", "b"], "secret": {"secret": "full"}}],
        },
        {"blowfish": 1, "columns": {"a": AGE}, "presence": "yes"},
        {"blowfish": 1, "columns": {"a": AGE}, "neighbors": "all"},
        {"blowfish": 1, "columns": {"a": AGE}, "neighbors": 0},
        {"blowfish": 1, "columns": {"a": AGE}, "constraints": [{"fact": "sum"}]},
        {"blowfish": 1, "columns": {"a": AGE}, "constraints": [{"fact": "marginal", "columns": ["z"]}]},
    ],
    ids=str,
)
def test_forms_that_say_no_policy_are_refused(spec):
    """Every slip in a plain form is one of our own errors."""
    with pytest.raises(BlowfishError):
        bf.Policy.from_dict(spec)


def test_broken_yaml_is_a_schema_error():
    """Text that is no YAML does not show a parser's error."""
    with pytest.raises(SchemaError, match="YAML"):
        bf.Policy.from_yaml("a: [1")


def test_yaml_is_read_from_text_or_a_file(tmp_path):
    """A Path, or text that ends in .yaml, is a file; errors say the line, never a traceback of their own."""
    policy = bf.datasets.patients_policy()
    place = tmp_path / "policy.yaml"
    place.write_text(policy.to_yaml())

    assert bf.Policy.from_yaml(place) == bf.Policy.from_yaml(str(place)) == policy
    with pytest.raises(SchemaError, match="cannot be read"):
        bf.Policy.from_yaml(tmp_path / "absent.yaml")
    with pytest.raises(SchemaError, match="line 2"):
        bf.Policy.from_yaml("blowfish: 1\ncolumns: [")
    with pytest.raises(SchemaError, match="not YAML"):
        bf.Policy.from_yaml(5)


def test_the_keys_of_secrets_are_all_known():
    """What a message lists is what secrets of some kind take."""
    assert set(SECRET) == set().union(*map(keys_of, KINDS_OF_SECRET))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"secrt": "full"}, ["unknown key 'secrt'", "did you mean `secret:`?", "theta, metric, scale"]),
        ({"maxx": 3}, ["did you mean `max:`?"]),
        ({"zzz": 3}, ["unknown key 'zzz'", "known: type, min, max"]),
        (
            {"secret": "threshold", "theta": 5},
            ["part of its secret", "`secret: {secret: threshold, theta: ...}`"],
        ),
        ({"missing": "public"}, ["`secret: {secret: full, missing: ...}`"]),
        ({"secret": {"secret": "threshold", "thetta": 5}}, ["secret of 'a'", "did you mean `theta:`?"]),
        (
            {"secret": {"secret": "full", "theta": 5}},
            ["unknown key 'theta'", "known for full: secret, missing"],
        ),
        ({"values": [1, 2]}, ["listed values have no `min:`, `max:`"]),
    ],
)
def test_a_slip_in_a_key_says_what_was_meant(column, said):
    """Unknown keys come with the nearest known one, and with all of them."""
    with pytest.raises(SchemaError) as refused:
        bf.Policy.from_dict({"blowfish": 1, "columns": {"a": {**AGE, **column}}})

    assert all(each in str(refused.value) for each in said), str(refused.value)


def test_slips_elsewhere_say_what_was_meant():
    """Keys of the policy itself, and of joint secrets."""
    joint = [{"columns": ["a", "b"], "secret": {"secret": "threshold", "theta": 2, "metrics": "l2"}}]

    with pytest.raises(SchemaError, match="did you mean `joint:`"):
        bf.Policy.from_dict({"blowfish": 1, "columns": {"a": AGE}, "joints": []})
    with pytest.raises(SecretError, match="did you mean `metric:`"):
        bf.Policy.from_dict({"blowfish": 1, "columns": {"a": AGE, "b": AGE}, "joint": joint})
