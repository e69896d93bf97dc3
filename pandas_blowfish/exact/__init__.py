"""Numbers that are decided, never rounded: fractions, instants, enclosures, integer kernels, Pareto fronts.

Promises that every comparison on which privacy depends is exact, in fractions and whole numbers. Never sees
rows; imports nothing of the project but its errors.

Read `number` (how a float becomes a fraction) and `instant`, then `enclosure` (exponentials and logarithms
between integers), which the noise sampler relies on. `logarithm`, `integer_kernel` and `pareto` serve
policies, facts and plans; `syntax` is the base of all readers of text; `arrays` and `digest` are small
tools.
"""
