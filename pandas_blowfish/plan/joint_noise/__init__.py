"""Noise that several query rows draw together: norms, how many points they hold, the law. Never sees rows.

Read `norms.py` (what is measured in which norm), `ball_points.py` (the numbers that noise is drawn by), then
`joint_law.py` (variances and error bars).
"""

from pandas_blowfish.plan.joint_noise.ball_points import clique_weights, count_points, difference, numerator
from pandas_blowfish.plan.joint_noise.joint_law import (
    clique_ends,
    clique_reach,
    clique_spread,
    clique_widening,
    joint_reach,
    joint_variances,
    law_text,
)
from pandas_blowfish.plan.joint_noise.norms import (
    APART,
    BOX,
    CLIQUE,
    MAX_CLIQUE,
    MAX_DIMENSION,
    Joint,
    NoiseNorm,
    Shape,
    box,
    clique,
)
from pandas_blowfish.plan.joint_noise.norms import NormBlock as Block

__all__ = [
    "APART",
    "BOX",
    "CLIQUE",
    "MAX_CLIQUE",
    "MAX_DIMENSION",
    "Block",
    "Joint",
    "NoiseNorm",
    "Shape",
    "box",
    "clique",
    "clique_ends",
    "clique_reach",
    "clique_spread",
    "clique_weights",
    "clique_widening",
    "count_points",
    "difference",
    "joint_reach",
    "joint_variances",
    "law_text",
    "numerator",
]
