"""The secret key of all seals of a ledger, which is stored outside it. Never sees rows.

A file ledger's key is in `<ledger>.seal-key`, or where `BLOWFISH_SEAL_KEY` states: 64 hexadecimal digits, or
the path of a file that holds them. Such a file is made, with mode 0600, when the first dataset is protected.
From this one key each dataset has its own, by its name and a random salt. The ledger holds the salt and a
fingerprint of the key, which reveals a wrong key and nothing else.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pandas_blowfish.books.database import is_in_memory
from pandas_blowfish.errors import LedgerTamperedError, SealKeyError
from pandas_blowfish.exact.digest import keyed_digest

ENVIRONMENT = "BLOWFISH_SEAL_KEY"
ENDING = ".seal-key"
DIGITS = re.compile(r"[0-9a-fA-F]{64}")
RESTORE = f"restore the file, or set {ENVIRONMENT}; without the key the ledger can be read and verified."
UPGRADE = "pandas-blowfish ledger upgrade {} (or bf.Ledger(path).upgrade()) moves it out."
_MEMORY: dict[str, bytes] = {}  # location: the key of a ledger in memory


def read_key(location: str) -> bytes:
    """Return the key of a ledger, or raise SealKeyError where it is not there."""
    if is_in_memory(location):
        return _MEMORY.setdefault(location, secrets.token_bytes(32))
    stated, path = _place(location)
    if stated is not None:
        return stated
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(1_000).strip()
    except FileNotFoundError:
        raise SealKeyError(f"the seal key of {location!r} is not in {path!r}", RESTORE) from None
    except (OSError, ValueError) as error:
        problem = f"{path!r} cannot be read as a seal key: {type(error).__name__}"
        raise SealKeyError(problem, RESTORE) from None
    if not DIGITS.fullmatch(text):
        raise SealKeyError(f"{path!r} does not hold a seal key, which is 64 hexadecimal digits", RESTORE)
    return bytes.fromhex(text)


def begin_key(location: str, known: str | None) -> bytes:
    """Return the key of a ledger, as `propose_key` does; a new one is written."""
    proposed = propose_key(location, known)
    return proposed if keep_key(location, proposed) else read_key(location)


def propose_key(location: str, known: str | None) -> bytes:
    """Return the key of a ledger, or a new one, not yet written, where there is none.

    Args:
        location: The ledger.
        known: The fingerprint that its datasets state; None where there are none, so that it has no key yet.
    """
    if known is None and not is_in_memory(location):
        stated, path = _place(location)
        if stated is None and not os.path.lexists(path):
            return secrets.token_bytes(32)
    master = read_key(location)
    if known not in (None, fingerprint(master)):
        raise SealKeyError(f"the seal key at hand is not the one of {location!r}", RESTORE)
    return master


def keep_key(location: str, master: bytes) -> bool:
    """Write a proposed key where there is none; return False if another process wrote another one meanwhile.

    A whole file appears, once, so that processes that do so at the same time agree.
    """
    stated, path = (master, "") if is_in_memory(location) else _place(location)
    if stated is None and not os.path.lexists(path):
        draft = f"{path}.{secrets.token_hex(8)}.new"
        try:
            _write(draft, master.hex())
            with suppress(FileExistsError):
                os.link(draft, path)
            _settle(os.path.dirname(path))
        except OSError as error:
            problem = f"no seal key can be written to {path!r}: {error.strerror or type(error).__name__}"
            raise SealKeyError(problem, f"make the directory writable, or set {ENVIRONMENT}.") from None
        finally:
            with suppress(OSError):
                os.unlink(draft)
    return read_key(location) == master


def fingerprint(master: bytes) -> str:
    """Return a fingerprint that identifies a key and reveals nothing about it."""
    return keyed_digest(master, "id")[:32]


def new_binding(master: bytes, dataset: str) -> tuple[dict[str, str], str]:
    """Return what a ledger states of a new dataset's key, and the key."""
    salt = secrets.token_hex(16)
    return {"id": fingerprint(master), "salt": salt}, keyed_digest(master, "dataset", salt, dataset)


def with_key(location: str, dataset: str, binding: Mapping[str, Any]) -> dict[str, Any]:
    """Return a binding with the dataset's own key in it, as `seal.find_change` takes it.

    Raises:
        SealKeyError: The key is not at hand, is another one, or still lies in the ledger.
    """
    stated = stated_key(location, binding)
    master = read_key(location)
    if fingerprint(master) != stated["id"]:
        raise SealKeyError(f"the seal key at hand is not the one of dataset {dataset!r}", RESTORE)
    if "original" not in stated:
        return {**binding, "key": keyed_digest(master, "dataset", stated["salt"], dataset)}
    from pandas_blowfish.books.upgrade import old_key  # here: few ledgers are that old

    return {**binding, "key": old_key(master, dataset, binding)}


def stated_key(location: str, binding: Mapping[str, Any]) -> dict[str, str]:
    """Return what a binding states of its key, or raise SealKeyError for one that still holds the key."""
    stated = binding.get("seal_key")
    if isinstance(stated, dict) and all(isinstance(stated.get(part), str) for part in ("id", "salt")):
        return stated
    if "key" in binding and stated is None:
        problem = f"{location!r} holds the key of its seals, as older versions wrote it"
        raise SealKeyError(problem, UPGRADE.format(location))
    raise LedgerTamperedError(None, "a dataset's first entry states no seal key")


def random_name() -> str:
    """Return a name that no other dataset has."""
    return secrets.token_hex(6)


def wrap(master: bytes, salt: str, dataset: str, text: str) -> str:
    """Return a text that whoever has the key can read, and nobody else can read or change."""
    nonce = secrets.token_bytes(12)
    return base64.b64encode(
        nonce + _cipher(master, salt, dataset).encrypt(nonce, text.encode(), None)
    ).decode()


def unwrap(master: bytes, salt: str, dataset: str, wrapped: str) -> str:
    """Return the text that was wrapped, or raise ValueError where it was changed."""
    from cryptography.exceptions import InvalidTag

    whole = base64.b64decode(wrapped, validate=True)
    try:
        return str(_cipher(master, salt, dataset).decrypt(whole[:12], whole[12:], None).decode())
    except InvalidTag:
        raise ValueError("changed") from None


def _place(location: str) -> tuple[bytes | None, str]:
    """Return the key that the environment states, or where its file is."""
    stated = os.environ.get(ENVIRONMENT, "").strip()
    if DIGITS.fullmatch(stated):
        return bytes.fromhex(stated), ""
    if re.fullmatch(r"[0-9a-fA-F]{16,}", stated):
        problem = f"{ENVIRONMENT} holds {len(stated)} hexadecimal digits, not 64"
        raise SealKeyError(problem, "give all 64, or the path of a file that holds them.")
    return None, os.path.abspath(stated) if stated else f"{os.path.realpath(location)}{ENDING}"


def _write(path: str, text: str) -> None:
    """Write a new file that only its owner can read, through to the disk."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(handle)


def _settle(directory: str) -> None:
    """Write the names in a directory through to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cipher(master: bytes, salt: str, dataset: str) -> Any:
    """Return AES-256-GCM under a key of this dataset alone."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(bytes.fromhex(keyed_digest(master, "wrap", salt, dataset)))
