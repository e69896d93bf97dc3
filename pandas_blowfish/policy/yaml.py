"""YAML as people write policies and jobs, read and written within limits. Never sees rows.

A small text must not become a large structure, so there are no aliases and no merges, nesting ends at
`MAX_DEPTH` and a text at `MAX_TEXT` characters. A key stands once: of two, a reader may see the other one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pandas_blowfish.errors import SchemaError

MAX_TEXT = 1_000_000  # characters
MAX_DEPTH = 24  # of lists and mappings in each other; a policy needs 7
MAX_NUMBER = 400  # characters of a scalar that is read as anything but text
BREAKS = ("\x85", "\u2028", "\u2029")  # line breaks to YAML, which folds them unless they are escaped


def parse_yaml(text: str) -> Any:
    """Return what a YAML text holds.

    Examples:
        >>> parse_yaml("secret: full")
        {'secret': 'full'}
    """
    import yaml

    if len(text) > MAX_TEXT:
        what = f"the YAML has {len(text):,} characters; the limit is {MAX_TEXT:,}"
        raise SchemaError(None, what, fix="build large policies in Python, with bf.Policy.")
    try:
        return yaml.load(text, _loader())
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, SchemaError):
            raise
        mark = getattr(error, "problem_mark", None)
        last = len(text.splitlines()) or 1  # the end of a text is on its last line, whoever counts
        line = f", line {min(mark.line + 1, last)}" if mark is not None else ""
        fix = "correct the YAML."
        raise SchemaError(None, f"the YAML cannot be read ({type(error).__name__}{line})", fix=fix) from None


def dump_yaml(data: Any, **options: Any) -> str:
    """Return plain data as YAML that `parse_yaml` reads back exactly.

    Examples:
        >>> parse_yaml(dump_yaml({"secret": "full"}))
        {'secret': 'full'}
    """
    import yaml

    return str(yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, **options))


@cache
def _loader() -> Any:
    """Return the class of safe loaders that keeps the limits; where libyaml is, it reads the characters."""
    import yaml
    from yaml.composer import Composer
    from yaml.constructor import SafeConstructor
    from yaml.resolver import Resolver

    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]
    except ImportError:
        return type("Loader", (_limits(), yaml.SafeLoader), {})
    events: Any = CParser

    def begin(self: Any, stream: str) -> None:
        events.__init__(self, stream)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)

    return type("Loader", (_limits(), Composer, events, SafeConstructor, Resolver), {"__init__": begin})


@cache
def _limits() -> Any:
    """Return the part of a loader that refuses what the module's docstring says."""
    import yaml

    class Limits:
        """Composes nodes within limits."""

        depth = 0

        def compose_node(self: Any, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                what = f"an alias or anchor (`&` or `*`) on line {line}"
                raise SchemaError(
                    None, what, fix="write it out where it is needed; quote text that begins so."
                )
            if self.depth >= MAX_DEPTH:
                what = f"more than {MAX_DEPTH} lists or mappings in each other, on line {line}"
                raise SchemaError(None, what, fix="see docs for the form of a policy: it is not that deep.")
            self.depth += 1
            node = super().compose_node(parent, index)  # type: ignore[misc]
            self.depth -= 1
            return node

        def compose_scalar_node(self: Any, anchor: Any) -> Any:
            node = super().compose_scalar_node(anchor)  # type: ignore[misc]
            kind = node.tag.rpartition(":")[2]
            if kind != "str" and len(node.value) > MAX_NUMBER:
                line = node.start_mark.line + 1
                what = f"a number of {len(node.value):,} characters on line {line}"
                raise SchemaError(None, what, fix="write a shorter one, or quote it as text.")
            return node

        def compose_mapping_node(self: Any, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)  # type: ignore[misc]
            lines: dict[Any, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue  # refused by the constructor, or compared by it
                line = key.start_mark.line + 1
                kind = key.tag.rpartition(":")[2]
                if kind == "merge":
                    what = f"a merge (`<<:`) on line {line}"
                    raise SchemaError(None, what, fix="write out what it would add.")
                value = (key.value,) if kind == "value" else self.construct_object(key)
                if value in lines:
                    what = f"the key `{key.value}` is there twice, on lines {lines[value]} and {line}"
                    raise SchemaError(None, what, fix="keep one of them.")
                lines[value] = line
            return node

    return Limits


@cache
def _dumper() -> Any:
    """Return the class of safe dumpers whose text has no aliases and whose line breaks survive."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes each value where it stands."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, data: str) -> Any:
        style = '"' if any(each in data for each in BREAKS) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, text)
    return Dumper
