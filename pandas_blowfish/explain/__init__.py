"""Words and pictures of policies, releases and ledgers. Never sees rows, spends nothing, draws no noise.

Imports neither `kernel` nor `count`: whatever is shown here follows from a policy, a release or a ledger.

Read `glance` (a frame in a notebook or a terminal), `compare` (several policies side by side), then the
folders: `policy` (pictures of secrets), `release` (plots of noisy frames), `report` (the privacy officer's
page).
"""
