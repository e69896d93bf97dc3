"""The faults: each makes a release lose more than it is charged, or might.

A function here gets the `Patches` to put one fault in with; `old` is what it replaces.
"""
# ruff: noqa: ARG001, ARG005  (a fault takes what it replaces, and need not use it)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from mutation_patches import Fault, Patches

from pandas_blowfish.beyond import quilt
from pandas_blowfish.beyond.chain_plan import ChainPlan
from pandas_blowfish.count import tally as count
from pandas_blowfish.count import weigh as total
from pandas_blowfish.facts import move_bound
from pandas_blowfish.plan import plan as plans
from pandas_blowfish.plan import price, sensitivity
from pandas_blowfish.plan.clusters import adaptive, counted, soft, whole
from pandas_blowfish.plan.clusters import question as clustering
from pandas_blowfish.plan.clusters import sensitivity as hats
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.line import axis as line
from pandas_blowfish.plan.line import dawa, nest, tree
from pandas_blowfish.plan.line import runs as nested
from pandas_blowfish.plan.linear import atom_rows as linear
from pandas_blowfish.plan.linear import sensitivity as links
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tables import effects as tables
from pandas_blowfish.plan.tables import identity, levels, mesh, residual
from pandas_blowfish.plan.tables import mesh_lines as crossings
from pandas_blowfish.plan.tables import sensitivity as changes
from pandas_blowfish.plan.tables.mesh_lines import MeshLines
from pandas_blowfish.plan.totals import sensitivity as shifts
from pandas_blowfish.plan.totals import sensitivity as stretch
from pandas_blowfish.plan.totals import sums as totals
from pandas_blowfish.policy import policy as policies
from pandas_blowfish.policy.graph import ball, partition
from pandas_blowfish.policy.graph import records as product
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.secret_graph import Cliques

FAULTS: list[Fault] = []
COUNTS, LINES, TABLES, WORK, TOTALS, CLUSTERS, FACTS, POLICIES, COUNTING, OTHERS = (
    "counts",
    "lines",
    "tables",
    "workloads",
    "totals",
    "clusters",
    "facts",
    "policies",
    "counting",
    "other promises",
)


def fault(name: str, family: str, *cases: str, relied: bool = False, tests: str = "") -> Callable[..., Any]:
    """Enter a function as a fault."""

    def enter(inject: Callable[[Patches], None]) -> Callable[[Patches], None]:
        FAULTS.append(Fault(name, family, cases, inject, relied, tests))
        return inject

    return enter


def half(old: Any, *given: Any) -> Any:
    """Return half of a number, or of each of some."""
    found = old(*given)
    return tuple(each / 2 for each in found) if isinstance(found, tuple) else found / 2


def first_finer(found: Scales) -> Scales:
    """Return scales of which that of the first noisy row is a quarter."""
    codes = found.codes.astype(np.int64).copy()
    row = next(row for row in range(len(codes)) if found.values[int(codes[row])])
    values = [*found.values, found.values[int(codes[row])] / 4]
    codes[row] = len(found.values)
    return Scales(values, codes)


def first_doubled(values: Any) -> Any:
    """Return numbers of which the first is doubled."""
    found = np.array(values)
    found[0] *= 2
    return found


def scale_faults(owner: Any, name: str, family: str, said: str, *cases: str, tests: str = "") -> None:
    """Enter a halved scale."""
    fault(f"{said}: scales halved", family, *cases, tests=tests)(lambda patch: patch.wrap(owner, name, half))


scale_faults(identity.Identity, "scale", COUNTS, "identity", "hist")
for _name in ("identity", "ordered", "hierarchical", "ordered_hierarchical", "haar"):
    scale_faults(nested.Nested, "family_scales", LINES, f"runs ({_name})", f"ranges, {_name}")
scale_faults(dawa.Dawa, "bucket_scale", LINES, "dawa, totals", "ranges, dawa")
scale_faults(dawa.Dawa, "partition_scale", LINES, "dawa, partition", "ranges, dawa")
scale_faults(tables.EffectTables, "table_scales", TABLES, "residual", "marginals, residual")
scale_faults(tables.EffectTables, "table_scales", TABLES, "even", "marginals, even")
scale_faults(tables.EffectTables, "table_scales", TABLES, "one joint table", "marginals, joint")
scale_faults(tables.EffectTables, "table_scales", TABLES, "levels", "boxes, levels")
for _name in ("identity", "direct", "optimised"):
    scale_faults(linear.Linear, "scale", WORK, f"linear ({_name})", f"workload, {_name}")
scale_faults(nested.Nested, "family_scales", WORK, "woven", "workload, ordered")
scale_faults(totals.NoisySums, "total_scales", TOTALS, "sum", "sum")
scale_faults(totals.NoisySums, "total_scales", TOTALS, "mean", "mean")
scale_faults(
    totals.NoisySums, "total_scales", TOTALS, "logsum", "logsum", tests="tests/privacy/test_total_loss.py"
)
scale_faults(
    totals.NoisySums, "total_scales", TOTALS, "geomean", "geomean", tests="tests/privacy/test_total_loss.py"
)
scale_faults(identity.Identity, "scale", CLUSTERS, "grid", "clusters, grid")
scale_faults(soft.SoftBins, "scale", CLUSTERS, "soft bins", "clusters, soft")
scale_faults(adaptive.Adaptive, "round_scales", CLUSTERS, "adaptive", "clusters, adaptive")
scale_faults(whole.Whole, "column_scales", CLUSTERS, "whole", "clusters, whole")


@fault("tree: scales halved", LINES, "ranges, tree", "tree of listed edges")
def _(patch: Patches) -> None:
    def scales(old: Any, own: Any) -> Scales:
        found = old(own)
        return Scales([each / 2 for each in found.values], found.codes)

    patch.wrap(tree.Tree, "_scales", scales)


@fault("mesh: scales halved", TABLES, "boxes, mesh")
def _(patch: Patches) -> None:
    patch.wrap(
        mesh.Mesh, "level_scales", lambda old, own: tuple(tuple(b / 2 for b in each) for each in old(own))
    )


# one row's scale is too small

for _owner, _said, _family, _case in (
    (identity.Identity, "identity", COUNTS, "hist"),
    (nested.Nested, "runs", LINES, "ranges, hierarchical"),
    (tree.Tree, "tree", LINES, "ranges, tree"),
    (tables.EffectTables, "residual", TABLES, "marginals, residual"),
    (mesh.Mesh, "mesh", TABLES, "boxes, mesh"),
    (linear.Linear, "linear", WORK, "workload, direct"),
    (totals.NoisySums, "mean", TOTALS, "mean"),
    (soft.SoftBins, "soft bins", CLUSTERS, "clusters, soft"),
    (adaptive.HalvedBoxes, "a round of adaptive", CLUSTERS, "clusters, adaptive"),
    (whole.PartSums, "sums of parts", CLUSTERS, "clusters, whole"),
):
    fault(f"{_said}: the scale of one row a quarter", _family, _case)(
        lambda patch, owner=_owner: patch.wrap(owner, "scales", lambda old, own: first_finer(old(own)))
    )

# a row is measured otherwise than it is stated

STRATEGY = "tests/plan/strategy/test_{}.py"
for _owner, _said, _family, _case, _file in (
    (identity.Identity, "identity", COUNTS, "hist", "identity"),
    (nested.Nested, "runs", LINES, "ranges, hierarchical", "nested"),
    (tree.Tree, "tree", LINES, "ranges, tree", "tree"),
    (residual.Residual, "residual", TABLES, "marginals, residual", "residual"),
    (levels.Levels, "levels", TABLES, "boxes, levels", "levels"),
    (mesh.Mesh, "mesh", TABLES, "boxes, mesh", "mesh"),
    (linear.Linear, "linear", WORK, "workload, direct", "linear"),
    (totals.NoisySums, "sums", TOTALS, "sum", "total"),
    (soft.SoftBins, "soft bins", CLUSTERS, "clusters, soft", "soft"),
    (adaptive.HalvedBoxes, "a round of adaptive", CLUSTERS, "clusters, adaptive", "adaptive"),
    (whole.PartSums, "sums of parts", CLUSTERS, "clusters, whole", "whole"),
):
    fault(f"{_said}: one row doubled when measured", _family, _case, tests=STRATEGY.format(_file))(
        lambda patch, owner=_owner: patch.wrap(
            owner, "apply", lambda old, own, counts: first_doubled(old(own, counts))
        )
    )


def _both_doubled(patch: Patches, owner: Any) -> None:
    """Double the first row in what is measured and in what is stated alike; scales stay."""

    def columns(old: Any, own: Any, cells: Any) -> Any:
        found = old(own, cells).tolil()
        found[0] = found[0] * 2
        return found.tocsc()

    patch.wrap(owner, "apply", lambda old, own, counts: first_doubled(old(own, counts)))
    patch.wrap(owner, "columns", columns)


for _owner, _said, _family, _case in (
    (identity.Identity, "identity", COUNTS, "hist"),
    (residual.Residual, "residual", TABLES, "marginals, residual"),
    (linear.Linear, "linear", WORK, "workload, direct"),
    (totals.NoisySums, "sums", TOTALS, "sum"),
    (adaptive.HalvedBoxes, "a round of adaptive", CLUSTERS, "clusters, adaptive"),
):
    fault(f"{_said}: one row doubled, and stated so", _family, _case)(
        lambda patch, owner=_owner: _both_doubled(patch, owner)
    )


@fault(
    "identity: a row counts a second bin when measured",
    COUNTS,
    "hist",
    tests="tests/plan/tables/test_identity.py",
)
def _(patch: Patches) -> None:
    def measured(old: Any, own: Any, counts: Any) -> Any:
        return old(own, counts) + np.append(counts[1], np.zeros(len(own.scales) - 1, dtype=np.int64)) * 2

    patch.wrap(identity.Identity, "apply", measured)


@fault("runs: the rows of a second level are added to one another", LINES, "ranges, hierarchical")
def _(patch: Patches) -> None:
    def measured(old: Any, own: Any, counts: Any) -> Any:
        found = np.array(old(own, counts))
        found[1:] = found[1:] + found[:-1] * (found[1:] != found[:-1])
        return found

    patch.wrap(nested.Nested, "apply", measured)


# exact parts that are not


@fault("one bin that edges leave is taken for exact", COUNTS, "hist", "hist, near")
def _(patch: Patches) -> None:
    def parts(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, alone=np.append(True, found.alone[1:]))

    patch.everywhere(sensitivity.exact_parts, parts)


@fault(
    "totals of parts of a group of cells are taken for exact", COUNTS, "hist, groups of cells", "hist, near"
)
def _(patch: Patches) -> None:
    def parts(old: Any, *given: Any) -> Any:
        found = old(*given)
        halves = np.where(found.total_of < 0, -1, 2 * found.total_of + np.arange(len(found.total_of)) % 2)
        return replace(found, total_of=halves, totals=2 * found.totals)

    patch.everywhere(sensitivity.exact_parts, parts)


@fault("every piece is taken for exact", LINES, "tree of listed edges", "cumhist, filtered")
def _(patch: Patches) -> None:
    def exact(old: Any, *given: Any) -> Any:
        found = old(*given)
        size = len(found.alone)
        return sensitivity.ExactParts(np.ones(size, dtype=bool), np.full(size, -1), 0)

    patch.wrap(line, "_exact", exact)


@fault("totals of finer groups are taken for exact", TABLES, "marginals, groups of cells")
def _(patch: Patches) -> None:
    def finer(old: Any, self: Any, *given: Any) -> Any:
        found = old(self, *given)
        return tuple(np.arange(len(each)) for each in found) if found is not None else None

    from pandas_blowfish.plan.tables.question import Marginals

    patch.wrap(Marginals, "groups", finer)


@fault("a level that edges change is taken for exact", TABLES, "boxes, levels of pieces")
def _(patch: Patches) -> None:
    def still(old: Any, own: Any) -> Any:
        pairs = zip(old(own), own.leveled.ladders, strict=True)
        return tuple(min(level + 1, each.levels - 1) for level, each in pairs)

    patch.wrap(levels.Levels, "still", still)


@fault(
    "a total of atoms that edges leave is taken for exact",
    WORK,
    "workload, presence",
    "workload, groups of cells",
)
def _(patch: Patches) -> None:
    def parts(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, parts=np.arange(found.count) // 2)

    patch.everywhere(links.links, parts)


@fault("pieces are cut finer than the groups of cells", CLUSTERS, "clusters, whole")
def _(patch: Patches) -> None:
    patch.everywhere(whole.pieces, lambda old, policy, space: [np.arange(many) for many in space.cells])
    patch.set(
        whole,
        "exact_parts",
        lambda graph, tally: sensitivity.ExactParts(
            np.ones(tally.size, dtype=bool), np.full(tally.size, -1), 0
        ),
    )


@fault("numbers of rows of groups are taken for exact", CLUSTERS, "clusters, counted")
def _(patch: Patches) -> None:
    patch.set(
        identity,
        "exact_parts",
        lambda graph, tally: sensitivity.ExactParts(
            np.ones(tally.size, dtype=bool), np.full(tally.size, -1), 0
        ),
    )


# lines


@fault("edges are one cell shorter along a line", LINES, "ranges, ordered", "ranges, tree", "quantile")
def _(patch: Patches) -> None:
    patch.wrap(line, "_widest", lambda old, reach: old(np.maximum(reach - 1, np.arange(len(reach)))))


@fault("rows that leave a line are forgotten", LINES, "cumhist, filtered", "cumhist, missing")
def _(patch: Patches) -> None:
    patch.everywhere(line.line, lambda old, *given: replace(old(*given), away=np.empty(0, dtype=np.int64)))


@fault("rows that change their line are forgotten", LINES, "cumhist by group")
def _(patch: Patches) -> None:
    patch.everywhere(
        line.line, lambda old, *given: replace(old(*given), across=np.empty((0, 2), dtype=np.int64))
    )


@fault("a level is thought not to change", LINES, "ranges, hierarchical", "ranges, haar")
def _(patch: Patches) -> None:
    def patterns(old: Any, own: Any) -> Any:
        found = old(own).copy()
        found[:, -1] = 0
        return found

    patch.wrap(nest.Nest, "patterns", patterns)


@fault("one prefix fewer is thought to change", LINES, "ranges, ordered_hierarchical", "ranges, ordered")
def _(patch: Patches) -> None:
    def patterns(old: Any, own: Any) -> Any:
        found = old(own).copy()
        found[:, 0] = np.maximum(found[:, 0] - 1, 1)
        return found

    patch.wrap(nest.Nest, "patterns", patterns)


@fault("paths of a tree are one edge shorter", LINES, "ranges, tree", "tree of listed edges")
def _(patch: Patches) -> None:
    patch.wrap(tree.Tree, "_longest", lambda old, own: np.maximum(old(own) - 1, 1))


@fault(
    "paths of a tree that lead up and down count one way", LINES, "cumhist by group", "tree of listed edges"
)
def _(patch: Patches) -> None:
    patch.wrap(tree.Tree, "_longest", lambda old, own: (old(own) + 1) // 2)


@fault("dawa: no share of epsilon for the partition", LINES, "ranges, dawa")
def _(patch: Patches) -> None:
    patch.wrap(dawa.Dawa, "bucket_scale", lambda old, own: own.sensitivity / own.epsilon)


@fault(
    "dawa: the partition counts changes once, not twice",
    LINES,
    "ranges, dawa",
    relied=True,
    tests="tests/plan/line/test_dawa.py",
)
def _(patch: Patches) -> None:
    patch.wrap(dawa.Dawa, "partition_scale", lambda old, own: old(own) / 2)
    patch.wrap(
        dawa.Dawa,
        "loss_scales",
        lambda old, own: Scales(
            [1 / (1 / own.partition_scale + 1 / own.bucket_scale), Fraction(0)], own.scales.codes
        ),
    )


# tables


@fault("each table at the full epsilon", TABLES, "marginals, even", "marginals, residual")
def _(patch: Patches) -> None:
    def scales(old: Any, own: Any) -> Any:
        return tuple(Fraction(int(most)) / own.epsilon for most in own.losses.max(axis=0))

    patch.wrap(tables.EffectTables, "table_scales", scales)


@fault("edges change one column at a time", TABLES, "marginals, residual", "marginals, even")
def _(patch: Patches) -> None:
    def single(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, patterns=np.eye(found.patterns.shape[1], dtype=bool))

    patch.everywhere(changes.changes, single)


@fault("rows that leave the filter are forgotten by tables", TABLES, "marginals, filtered")
def _(patch: Patches) -> None:
    patch.everywhere(changes.changes, lambda old, *given: replace(old(*given), leaves=False))


@fault("a folded column is thought not to change a table", TABLES, "marginals, residual")
def _(patch: Patches) -> None:
    def losses(old: Any, own: Any, seen: Any, folded: Any = None) -> Any:
        return old(own, seen & ~folded if folded is not None else seen, None)

    patch.wrap(changes.Changes, "losses", losses)


@fault("mesh: edges cross one line fewer", TABLES, "boxes, mesh")
def _(patch: Patches) -> None:
    def most(old: Any, *given: Any) -> Any:
        found = old(*given)
        return found and replace(found, most=tuple((max(a - 1, 0), max(b - 1, 0)) for a, b in found.most))

    patch.everywhere(crossings.crossings, most)


@fault("mesh: a line that edges cross has no noise", TABLES, "boxes, mesh")
def _(patch: Patches) -> None:
    def closed(old: Any, *given: Any) -> Any:
        found = old(*given)
        return found and replace(found, open=(np.append(False, found.open[0][1:]), found.open[1]))

    patch.everywhere(crossings.crossings, closed)


@fault(
    "mesh: the noise of the second kind of lines is not added",
    TABLES,
    "boxes, mesh",
    tests="tests/plan/tables/test_mesh.py",
)
def _(patch: Patches) -> None:
    def mapped(old: Any, own: Any, noise: Any) -> Any:
        first = own.counts_of_lines[0] * sum(own.lines[0].sizes)
        return old(own, np.where(np.arange(len(noise)) < first, noise, 0))

    patch.wrap(mesh.Mesh, "spread_noise", mapped)


@fault("mesh: flows are halved", TABLES, "boxes, mesh")
def _(patch: Patches) -> None:
    patch.wrap(MeshLines, "flows", lambda old, own, nodes: old(own, nodes) // 2)


# workloads


@fault(
    "half of the joined atoms are left out",
    WORK,
    "workload, direct",
    "workload, ordered",
    "workload, optimised",
)
def _(patch: Patches) -> None:
    def fewer(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, pairs=found.pairs[::2])

    patch.everywhere(links.links, fewer)


@fault("the change of workload rows is that of the mean edge", WORK, "workload, direct", "workload, identity")
def _(patch: Patches) -> None:
    patch.wrap(links.Links, "change", lambda old, own, rows: max(old(own, rows) // 2, 1))


@fault("rows that may be absent are forgotten by workloads", WORK, "workload, presence")
def _(patch: Patches) -> None:
    def present(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, pairs=found.pairs[(found.pairs < found.count).all(axis=1)])

    patch.everywhere(links.links, present)


# totals


@fault("the longest edge of a sum is one step", TOTALS, "sum", "sum of two", "mean")
def _(patch: Patches) -> None:
    patch.everywhere(
        stretch.longest_even, lambda old, weights, secret: min(old(weights, secret), weights.each)
    )


@fault(
    "the longest edge of a logarithm is halved",
    TOTALS,
    "logsum",
    "geomean",
    tests="tests/plan/totals/test_sensitivity_stretch.py",
)
def _(patch: Patches) -> None:
    patch.everywhere(stretch.longest_even, lambda old, *given: old(*given) // 2)


@fault("of listed edges the first alone is weighed", TOTALS, "sum of listed")
def _(patch: Patches) -> None:
    def shortest(old: Any, graph: Any, weights: Any) -> int:
        pair = weights[graph.edges()]
        return int(abs(pair[:, 0] - pair[:, 1]).min(initial=10**6))

    patch.everywhere(stretch.longest, shortest)


@fault("weights are doubled after changes were found", TOTALS, "sum", "mean")
def _(patch: Patches) -> None:
    def found(old: Any, own: Any, *given: Any) -> Any:
        sums, columns, change = old(own, *given)
        first = sums[0].lattice
        twice = replace(first, first=2 * first.first, each=2 * first.each, last=2 * first.last)
        return (replace(sums[0], lattice=twice), *sums[1:]), columns, change

    from pandas_blowfish.plan.totals.question import Totals

    patch.wrap(Totals, "_found", found)


@fault("sums of groups that rows change between are priced apart", TOTALS, "sum by group")
def _(patch: Patches) -> None:
    patch.everywhere(
        shifts.shifts, lambda old, *given: replace(old(*given), flows=((0,) * len(old(*given).peaks),))
    )


@fault("rows that leave the filter are forgotten by sums", TOTALS, "sum, filtered", "mean")
def _(patch: Patches) -> None:
    patch.everywhere(
        shifts.shifts, lambda old, *given: replace(old(*given), flows=((0,) * len(old(*given).peaks),))
    )


@fault("values that become missing are forgotten by sums", TOTALS, "sum, missing", "mean, missing")
def _(patch: Patches) -> None:
    patch.everywhere(shifts._apart, lambda old, *given: replace(old(*given), lost=0))


@fault("sums: one block moves at a time", TOTALS, "sum of two")
def _(patch: Patches) -> None:
    patch.everywhere(shifts.shifts, lambda old, *given: replace(old(*given), limit=1))


@fault("sums of a ball: its longest edges are left out", TOTALS, "sum of a ball")
def _(patch: Patches) -> None:
    patch.everywhere(stretch.joint_changes, lambda old, *given: np.maximum(old(*given) - 1, 0))


@fault("mean: its sum is charged, its count is not", TOTALS, "mean")
def _(patch: Patches) -> None:
    patch.wrap(
        totals.NoisySums,
        "_loss",
        lambda old, own, rates: old(own, [rates[0], *[Fraction(0)] * (len(rates) - 1)]),
    )


# clusters


@fault("soft bins: half of what an edge changes", CLUSTERS, "clusters, soft")
def _(patch: Patches) -> None:
    patch.everywhere(hats.soft_change, lambda old, *given: old(*given) // 2)


@fault("soft bins: edges of one column at a time", CLUSTERS, "clusters, soft")
def _(patch: Patches) -> None:
    def alone(old: Any, policy: Any, *given: Any) -> Any:
        return old(replaced(policy, neighbors="attribute"), *given)

    patch.everywhere(hats.soft_change, alone)


@fault("adaptive: each round at the full epsilon", CLUSTERS, "clusters, adaptive")
def _(patch: Patches) -> None:
    patch.wrap(
        adaptive.Adaptive,
        "round_scales",
        lambda old, own: tuple(each / own.epsilon for each in own.round_changes),
    )


@fault("adaptive: one more round than was paid for", CLUSTERS, "clusters, adaptive")
def _(patch: Patches) -> None:
    def fewer(old: Any, own: Any) -> Any:
        many = sum(each > 0 for each in own.round_changes)
        return tuple(each * (many - 1) / many for each in old(own))

    patch.wrap(adaptive.Adaptive, "round_scales", fewer)


@fault("adaptive: the last round is thought not to change", CLUSTERS, "clusters, adaptive")
def _(patch: Patches) -> None:
    def fewer(old: Any, own: Any) -> Any:
        found = old(own)
        return (*found[:-1], found[-1] / 3)

    patch.wrap(adaptive.Adaptive, "round_scales", fewer)


@fault("adaptive: boxes hold their neighbours too, in later rounds", CLUSTERS, "clusters, adaptive")
def _(patch: Patches) -> None:
    def measured(old: Any, own: Any, counts: Any) -> Any:
        found = old(own, counts)
        return found + np.roll(found, 1) * (own.coarse != own.fine)

    patch.wrap(adaptive.HalvedBoxes, "apply", measured)


@fault("whole: the longest edge of a piece is one step", CLUSTERS, "clusters, whole")
def _(patch: Patches) -> None:
    patch.everywhere(stretch.longest, lambda old, *given: min(old(*given), 1))
    patch.wrap(whole.Whole, "column_scales", lambda old, own: tuple(each / 2 for each in old(own)))


@fault("counted: the count at the full epsilon, the rest too", CLUSTERS, "clusters, counted")
def _(patch: Patches) -> None:
    patch.wrap(
        clustering.Clustering,
        "_best",
        lambda old, own, policy, epsilon, *given: old(own, policy, 2 * epsilon, *given),
    )


@fault("counted: the count takes all of epsilon, and is not deducted", CLUSTERS, "clusters, counted")
def _(patch: Patches) -> None:
    def all_of_it(old: Any, own: Any, *given: Any) -> Any:
        found = old(own, *given)
        return found and replace(found, count=replace(found.count, epsilon=given[1]))

    patch.wrap(clustering.Clustering, "_counted", all_of_it)


@fault("counted: priced by the synopsis for the usual number of rows", CLUSTERS, "clusters, counted for free")
def _(patch: Patches) -> None:
    patch.wrap(counted.Counted, "sensitivity", lambda old, own: own.count.sensitivity + own.then.sensitivity)


@fault("counted: charged nothing", CLUSTERS, "clusters, counted", "clusters, counted for free")
def _(patch: Patches) -> None:
    patch.wrap(counted.Counted, "sensitivity", lambda old, own: Fraction(0))


@fault("a noisy plan costs nothing", COUNTS, "hist", "sum", "ranges, tree", "boxes, mesh", "clusters, grid")
def _(patch: Patches) -> None:
    patch.wrap(plans.Plan, "cost", lambda old, own: Fraction(0))


# facts


def _price(patch: Patches, change: Callable[[Any], Any]) -> None:
    patch.everywhere(price.price_facts, lambda old, policy: change(old(policy)))


@fault(
    "facts are ignored when a plan is priced",
    FACTS,
    "fact, hist",
    "fact, near",
    "fact, marginal",
    "fact, sum",
)
def _(patch: Patches) -> None:
    free = move_bound.MoveBound(1, 1, move_bound.UNTOUCHED, "")
    _price(patch, lambda found: replace(found, policy=found.stated.reduced, bound=free))


@fault("one moved record fewer when a plan is priced", FACTS, "fact, hist", "fact, marginal")
def _(patch: Patches) -> None:
    _price(patch, lambda found: replace(found, bound=replace(found.found, count=found.found.count - 1)))


@fault(
    "one moved record whatever the facts, when a plan is priced",
    FACTS,
    "fact, hist",
    "fact, sum",
    "fact, near",
)
def _(patch: Patches) -> None:
    _price(patch, lambda found: replace(found, bound=replace(found.found, count=1)))


@fault("moved records go along edges, not anywhere", FACTS, "fact, near", "fact, sum near")
def _(patch: Patches) -> None:
    _price(patch, lambda found: replace(found, policy=found.stated.reduced))


@fault("facts are thought to tell every answer", FACTS, "fact, hist", "fact, near")
def _(patch: Patches) -> None:
    patch.wrap(Given, "settles", lambda old, own, *given: True)


# policies, as plans see them


def replaced(policy: Any, **stated: Any) -> Any:
    """Return a policy with something else stated, made without its checks."""
    same = policies.Policy.__new__(policies.Policy)
    same.__setstate__({**policy.__getstate__(), **stated})
    return same


def _graph(patch: Patches, change: Callable[[Any], Any]) -> None:
    patch.wrap(policies.Policy, "graph", lambda old, own: change(old(own)))


@fault("a projection drops a block", POLICIES, "hist of two", "hist, filtered", "hist by group", "sum of two")
def _(patch: Patches) -> None:
    def project(old: Any, own: Any, columns: Any) -> Any:
        found = old(own, columns)
        still = [replace(b, graph=Cliques(np.arange(b.graph.size))) for b in found.blocks[-1:]]
        return replace(found, blocks=(*found.blocks[:-1], *still))

    patch.wrap(product.RecordGraph, "project", project)


@fault("a joint block is projected on nothing but itself", POLICIES, "hist of a ball")
def _(patch: Patches) -> None:
    def project(old: Any, own: Any, columns: Any) -> Any:
        found = old(own, columns)
        return (
            replace(found, graph=ball.Ball.even(found.graph.size, 1))
            if len(columns) < len(own.columns)
            else found
        )

    patch.wrap(product.Block, "project", project)


@fault(
    "a threshold reaches one cell less",
    POLICIES,
    "ranges, ordered",
    "workload, direct",
    "clusters, soft",
    "hist, near",
)
def _(patch: Patches) -> None:
    patch.wrap(ball.Ball, "even", lambda old, cls, size, reach: old(cls, size, reach - 1))


@fault(
    "groups of cells are split for plans",
    POLICIES,
    "hist, groups of cells",
    "hist, listed groups",
    "workload, groups of cells",
)
def _(patch: Patches) -> None:
    def split(graph: Any) -> Any:
        blocks = []
        for block in graph.blocks:
            part = block.graph.components
            blocks.append(replace(block, graph=Cliques(2 * part + np.arange(len(part)) // 2 % 2)))
        return replace(graph, blocks=tuple(blocks))

    _graph(patch, split)


@fault("presence is forgotten by plans", POLICIES, "hist, presence", "count, presence", "workload, presence")
def _(patch: Patches) -> None:
    _graph(patch, lambda graph: replace(graph, presence=False))


@fault("missing values are joined to nothing", POLICIES, "hist, missing", "cumhist, missing")
def _(patch: Patches) -> None:
    def init(old: Any, own: Any, *given: Any, joined: bool) -> None:
        old(own, *given, joined=False)

    patch.wrap(WithMissing, "__init__", init)


@fault(
    'plans take "record" for "attribute"',
    POLICIES,
    "marginals, even",
    "marginals, residual",
    "clusters, soft",
)
def _(patch: Patches) -> None:
    _graph(patch, lambda graph: replace(graph, moves=1))


@fault("plans let one block fewer change", POLICIES, "marginals, two blocks")
def _(patch: Patches) -> None:
    _graph(patch, lambda graph: replace(graph, moves=graph.limit - 1))


@fault("edges that cross the filter are ignored", POLICIES, "hist, filtered", "clusters, counted")
def _(patch: Patches) -> None:
    patch.everywhere(sensitivity.edge_reach, lambda old, *given: replace(old(*given), leaves=False))


@fault("groups are taken for parallel parts", POLICIES, "hist by group", "hist of two")
def _(patch: Patches) -> None:
    patch.everywhere(sensitivity.edge_reach, lambda old, *given: replace(old(*given), crosses=False))


@fault(
    "an edge is thought to change one bin, not two",
    POLICIES,
    "hist",
    "clusters, adaptive",
    "hist, listed groups",
)
def _(patch: Patches) -> None:
    patch.everywhere(sensitivity.tally_sensitivity, lambda old, *given: min(old(*given), Fraction(1)))


# counting


@fault(
    "the filter is dropped when rows are counted",
    COUNTING,
    "hist, filtered to what is exact",
    "hist, filtered",
    tests="tests/count/test_tally.py",
)
def _(patch: Patches) -> None:
    def unfiltered(old: Any, asked: Any, *given: Any) -> Any:
        from pandas_blowfish.plan.tally import Tally

        return old(Tally(asked.binnings, asked.shown, None), *given)

    patch.everywhere(count.combine, unfiltered, kernel=True)


@fault(
    "one value is counted in the wrong bin",
    COUNTING,
    "ranges, ordered",
    "hist, groups of cells",
    "sum",
    tests="tests/count/test_tally.py",
)
def _(patch: Patches) -> None:
    def encoder(old: Any, column: Any, attribute: Any, **given: Any) -> Any:
        read = old(column, attribute, **given)
        return lambda start, stop: np.where(read(start, stop) == 0, attribute.size - 1, read(start, stop))

    patch.everywhere(count.encoder, encoder, kernel=True)


@fault(
    "one bin takes the rows of the next one too",
    COUNTING,
    "ranges, ordered",
    "hist, groups of cells",
    tests="tests/count/test_tally.py",
)
def _(patch: Patches) -> None:
    def tally(old: Any, frame: Any, asked: Any, **given: Any) -> Any:
        found = old(frame, asked, **given)
        return found + np.append(found[1], np.zeros(len(found) - 1, dtype=np.int64))

    patch.everywhere(count._tally, tally, kernel=True)


@fault("rows are counted twice", COUNTING, "hist", "ranges, haar", "workload, identity")
def _(patch: Patches) -> None:
    patch.everywhere(count._tally, lambda old, *given, **more: 2 * old(*given, **more), kernel=True)


@fault("missing values are counted nowhere", COUNTING, "hist, missing", tests="tests/count/test_tally.py")
def _(patch: Patches) -> None:
    def tally(old: Any, frame: Any, asked: Any, **given: Any) -> Any:
        found = old(frame, asked, **given)
        return np.append(found[:-1], 0) if asked.binnings and asked.binnings[0].attribute.nullable else found

    patch.everywhere(count._tally, tally, kernel=True)


@fault("sums weigh the last cell ten times", COUNTING, "sum", "mean", tests="tests/count/test_weigh.py")
def _(patch: Patches) -> None:
    def weigh(old: Any, lattice: Any, codes: Any) -> Any:
        weights, kept = old(lattice, codes)
        return np.where(codes == lattice.attribute.cells - 1, 10 * weights, weights), kept

    patch.everywhere(total.weigh, weigh, kernel=True)


@fault(
    "rows beyond the bounds are counted nowhere, not clipped",
    COUNTING,
    "cumhist, clipped",
    tests="tests/queries/frames/test_protect.py",
)
def _(patch: Patches) -> None:
    patch.everywhere(count.count_cells, lambda old, *given, clip: old(*given, clip=False), kernel=True)


# other promises


@fault("rows that follow each other are taken for independent", OTHERS, "chain")
def _(patch: Patches) -> None:
    patch.set(ChainPlan, "rate", staticmethod(lambda policy, epsilon: epsilon))


@fault("the secret total is forgotten", OTHERS, "secret total")
def _(patch: Patches) -> None:
    patch.wrap(totals.NoisySums, "_loss", lambda old, own, rates: own.moved.loss(rates))
    patch.wrap(totals.NoisySums, "_factors", lambda old, own: tuple(map(Fraction, own.moved.peaks)))


# what the check itself relies on


@fault(
    "`moved` says one record fewer",
    FACTS,
    "fact, hist",
    relied=True,
    tests="tests/privacy/test_fact_oracle.py",
)
def _(patch: Patches) -> None:
    def fewer(old: Any, policy: Any) -> Any:
        found = old(policy)
        return replace(found, count=found.count - 1) if found.rule != move_bound.UNTOUCHED else found

    patch.everywhere(move_bound.bound_moves, fewer, kernel=True)


@fault(
    "a threshold is read as one less",
    POLICIES,
    "ranges, ordered",
    relied=True,
    tests="tests/policy/test_policy.py",
)
def _(patch: Patches) -> None:
    def less(old: Any, *given: Any) -> Any:
        found = old(*given)
        return {
            key: {**own, "theta": str(int(own["theta"]) - 1)} if "theta" in own else own
            for key, own in found.items()
        }

    patch.everywhere(policies.merge, less)


@fault(
    "presence is not kept by a policy",
    POLICIES,
    "count, presence",
    relied=True,
    tests="tests/policy/test_policy.py",
)
def _(patch: Patches) -> None:
    def init(old: Any, own: Any, *given: Any, presence: bool = False, **more: Any) -> None:
        old(own, *given, **more)

    patch.wrap(policies.Policy, "__init__", init)


@fault(
    "listed groups are read as if each was two",
    POLICIES,
    "hist, listed groups",
    relied=True,
    tests="tests/policy/graph/test_partition.py",
)
def _(patch: Patches) -> None:
    def split(old: Any, *given: Any) -> Any:
        found = old(*given)
        return 2 * found + np.arange(len(found)) // 2 % 2

    patch.everywhere(partition.group_cells, split, kernel=True)


@fault("a chain's rate is doubled", OTHERS, "chain", relied=True, tests="tests/beyond/test_quilt.py")
def _(patch: Patches) -> None:
    def doubled(old: Any, *given: Any) -> Any:
        found = old(*given)
        return replace(found, rate=2 * found.rate)

    patch.everywhere(quilt.find_quilt, doubled, kernel=True)
