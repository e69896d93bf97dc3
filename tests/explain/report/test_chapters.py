"""The chapters about promise and budget: what they say is what the policy and the ledger say."""

import base64
import io
import math
import re

import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.explain.report.account import account
from pandas_blowfish.explain.report.chapters import budget, promise_chapter, when
from pandas_blowfish.policy.domain import Domain, integers


def _account(policy=None, epsilon=2, after=lambda df: None):
    policy = bf.datasets.patients_policy() if policy is None else policy
    rows = bf.datasets.patients(100) if "age" in policy.domain.columns else pd.DataFrame({"a": [0, 1, 2]})
    df = rows.blowfish.protect(policy, epsilon=epsilon, dataset="d", ledger=bf.Ledger())
    after(df)
    return account(df.blowfish.ledger, "d", bf.of)


def test_the_promise_is_said_with_its_fingerprint_and_file():
    """Columns, facts, fingerprint, and YAML that reads back as the policy."""
    policy = bf.Policy.from_dict(
        {
            **bf.datasets.patients_policy().to_dict(),
            "constraints": [{"fact": "marginal", "columns": ["region"]}],
        }
    )

    text = promise_chapter(_account(policy))["promise"]

    for part in (
        "values up to 5 apart",
        policy.fingerprint,
        "bf.Marginal(&#x27;region&#x27;)",
        "in any of its columns",
    ):
        assert part in text
    yaml = re.search(r"<code>(blowfish.*)</code>", text, re.DOTALL)[1]
    assert bf.Policy.from_yaml(yaml.replace("&#x27;", "'").replace("&quot;", '"')) == policy


def test_odds_are_told_for_what_is_spent_and_for_all():
    """Factors are those of policy.odds; an even guess is told as what it can become at most."""
    found = _account(after=lambda df: df.blowfish.hist("sex", epsilon="0.5"))

    text = promise_chapter(found)["odds"]

    policy = bf.datasets.patients_policy()
    half, whole = (policy.odds({"age": 50}, {"age": 55}, epsilon) for epsilon in ("0.5", 2))
    row = re.search(r"<tr><th[^>]*>age</th><td>50 against 55.*?</tr>", text)[0]
    cells = re.findall(r'number">([^<]*)<', row)
    assert cells == ["1", half.factor_text, "63%", whole.factor_text, "89%"]
    assert int(cells[2][:-1]) >= 100 * math.exp(0.5) / (1 + math.exp(0.5))
    assert "not protected" in text
    assert "certain" in text
    assert "over a million" in text
    assert str(whole)[:40].replace("'", "&#x27;") in text


def test_odds_say_when_nothing_is_spent_or_secret():
    """With nothing spent an even guess stays one; where nothing is secret, that is said."""
    open_ = bf.Policy(Domain((integers("a", 0, 3),)), secrets={"a": bf.public()})

    assert '<td class="number">50%</td>' in promise_chapter(_account())["odds"]
    assert "No column is a secret" in promise_chapter(_account(open_))["odds"]


def test_odds_that_facts_tie_are_marked():
    """They are about tables, not about one row alone: a star, and what it means."""
    policy = bf.Policy(Domain((integers("a", 0, 9),)), constraints=[bf.Count("a < 5")])

    text = promise_chapter(_account(policy))["odds"]

    assert "<td>* 5 against 9" in text
    assert "* These hold for tables that agree" in text


def test_findings_are_those_of_lint():
    """Each with its fix; and a sentence where there is none."""
    clean = bf.Policy(Domain((integers("a", 0, 3),)))

    text = promise_chapter(_account())["findings"]

    for each in bf.datasets.patients_policy().lint():
        assert each.what.split(":")[0] in text
    assert "Nothing was found" in promise_chapter(_account(clean))["findings"]


def test_the_budget_lists_entries_raises_facts_and_repricing():
    """The table, the bar, and a file with every entry."""

    def after(df):
        df.blowfish.hist("sex", epsilon="0.25", name="<b>sexes</b>")
        df.blowfish.ledger.raise_budget("d", 3, "because")
        df.blowfish.ledger.record_exact("d", bf.Count("age < 18"))

    found = _account(after=after)
    text = budget(found)

    for part in (
        "opened",
        "total raised: because",
        "fact became public: Count(",
        "1 earlier release cost more",
        "0.25, now 0.5",
    ):
        assert part in text
    assert "<b>" not in text
    assert 'aria-label="0.5 of 3 spent, 2.5 left"' in text
    table = pd.read_csv(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]*)", text)[1])))
    assert table["entry"].tolist() == [1, 2, 3, 4, 5]
    assert table["epsilon_now"].tolist()[1] == "1/2"
    assert table["hash"].tolist()[-1] == found.head


def test_a_closed_budget_is_told_in_words():
    """The bar is striped, the reason is there."""

    def after(df):
        df.blowfish.hist("age", epsilon=2)
        df.blowfish.ledger.record_exact("d", bf.Count("age < 18"))

    text = budget(_account(after=after))

    assert "bar over" in text
    assert "Closed: </strong>earlier releases have lost more" in text


def test_without_a_policy_nothing_is_promised():
    """A ledger that cannot be trusted to say it has chapters that say so."""
    found = _account()
    lost = type(found)(**{**vars(found), "policy": None})

    assert set(promise_chapter(lost)) == {"promise", "odds", "findings"}
    assert all("cannot be read" in text for text in promise_chapter(lost).values())


def test_times_are_machine_readable():
    """A time element, shown to the second."""
    text = when("2026-11-17T12:10:42.315+00:00")
    assert text == '<time datetime="2026-11-17T12:10:42.315+00:00">2026-11-17 12:10:42</time>'
