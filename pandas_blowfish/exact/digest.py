"""Keyed digests of texts: whoever lacks the key learns nothing from them."""

from __future__ import annotations

import hashlib
import hmac


def keyed_digest(key: bytes, *parts: str) -> str:
    """Return a keyed digest of some texts, separated by their lengths."""
    message = b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def seal_digest(key: str, *parts: str) -> str:
    """Return the keyed digest of what a seal is made of; the key is in hexadecimal."""
    return keyed_digest(bytes.fromhex(key), "seal", *parts)[:32]
