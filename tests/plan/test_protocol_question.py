"""Questions that know their own measurements: marginals and boxes fulfil the protocol."""

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 2))), secrets={("a", "b"): bf.threshold(1)})
PLANS = {
    "marginal": lambda **more: POLICY.plan.marginal([["a"], ["a", "b"]], **more),
    "range": lambda **more: POLICY.plan.range(["a", "b"], [((0, 1), (1, 2))], **more),
}


@pytest.mark.parametrize("verb", PLANS)
def test_a_question_names_its_strategies_and_rereads_them(verb):
    """Each strategy it names is planned or refused; what was measured is made again from its form."""
    question = PLANS[verb]().asked[0]

    assert isinstance(question, Question)
    for strategy in question.strategies:
        try:
            plan = PLANS[verb](strategy=strategy)
        except bf.BlowfishError:
            continue
        made = plan.measurement
        again = question.reread(POLICY, plan.epsilon, made.name, made.form)
        assert list(again.scales) == list(made.scales)
        assert (again.matrix() != made.matrix()).nnz == 0


def test_a_question_is_abstract():
    """Nothing can be asked without saying how it may be measured."""
    with pytest.raises(TypeError):
        Question()
