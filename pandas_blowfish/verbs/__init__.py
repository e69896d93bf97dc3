"""Every verb declared once: signatures and docstrings of `df.blowfish`, its views, other engines and `plan`.

Never sees rows: `accessor.Protected` answers verbs from rows, `Planner` plans them without.
Read `core_verbs` (the verbs of the papers, `where`, `groupby`, columns in brackets), then `pandas_verbs` and
`summary_verbs` (what pandas users type first); `arguments` refuses wrong calls, `pandas_names` names
of pandas that have no verb here.
"""
