"""Valid files made invalid: bytes flipped, cut, inserted and spliced, also behind checksums."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_WHOLE = (0, 1, -1, 2, 127, 128, 255, 32767, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)
_TOKENS = (
    *(b"", b"0", b"-1", b"1e999", b"NaN", b"-Infinity", b"null", b"true", b"[]", b"{}", b'""'),
    *(b"9" * 400, b"1e-400", b"0x10", b"1_000", b"[" * 2000, b"{" * 300, b"(" * 300, b'"' * 3),
    *(b"\x00", b"\xff\xfe", b"\n", b"\r", b"\t", b"\\", b"\x1b[2J", "η٣".encode(), b"\xf0\x9f"),
    *(b"evil:f", b"evil:Pendulum-v1", b"this:that", b"../../etc/passwd", b"/dev/zero", b"/"),
    *(b"minari:../x", b"__import__('evil')", b"${HOME}", b"%s%n", b"a" * 5000, b"-" * 300),
    *(b"mixture:1*dirac:0", b"geometric:", b"table:", b"poisson:1e300", b",", b":", b"=", b"#"),
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_ODD = (
    *(None, True, False, 0, 1, -1, 2, 3.5, -0.0, 1e308, float("nan"), float("inf"), 10**30, 2**63),
    *("", "x", "evil:f", "evil:Pendulum-v1", "../..", "/dev/zero", "\x00", "\n", "\ud800", "é"),
    *([], {}, [[]], [0], ["x"], {"kind": "evil"}, {"": 0}, [None] * 50, "a" * 3000, "minari:x"),
)


def mutated(rng: np.random.Generator, name: str, data: bytes, others: Sequence[bytes]) -> bytes:
    """A damaged version of the bytes of a file, in the way that its kind makes worth trying.

    Args:
        rng: decides everything.
        name: of the file; its ending says what it is.
        data: what a valid file holds.
        others: valid files to splice parts of.
    """
    inside = _INSIDE.get(name.rpartition(".")[2])
    if inside is not None and rng.random() < 0.6:
        return inside(rng, data, others)
    return damaged(rng, data, others)


def damaged(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """One to four operations on plain bytes."""
    for _ in range(1 + rng.geometric(0.6)):
        data = _OPERATIONS[rng.integers(len(_OPERATIONS))](rng, data, others)
    return data


def _flip(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.geometric(0.5)) if changed else 0):
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    return bytes(changed)


def _byte(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, data)
    return data[:at] + bytes([rng.integers(256)]) + data[at + 1 :]


def _whole(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    size = int(rng.choice([1, 2, 4, 8]))
    value = _WHOLE[rng.integers(len(_WHOLE))] % 256**size
    at = _place(rng, data)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def _cut(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: _place(rng, data)]


def _remove(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + int(rng.integers(1, 65)) :]


def _insert(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.bytes(int(rng.integers(1, 33))) + data[at:]


def _token(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    token, at = _TOKENS[rng.integers(len(_TOKENS))], _place(rng, data)
    return data[:at] + token + data[at + (len(token) if rng.random() < 0.5 else 0) :]


def _number(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data[:20_000]))
    if not found:
        return data
    match = found[rng.integers(len(found))]
    return data[: match.start()] + _TOKENS[rng.integers(len(_TOKENS))] + data[match.end() :]


def _repeat(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    at, size = _place(rng, data), int(rng.integers(1, 200))
    return data[:at] + data[at : at + size] * int(rng.choice([2, 3, 50])) + data[at + size :]


def _splice(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    other = others[rng.integers(len(others))] if others else data
    begin, at = _place(rng, other), _place(rng, data)
    part = other[begin : begin + int(rng.integers(1, 400))]
    return data[:at] + part + data[at + (len(part) if rng.random() < 0.5 else 0) :]


def _place(rng: np.random.Generator, data: bytes) -> int:
    """Anywhere; more often near the two ends, where headers are."""
    size = len(data) + 1
    near = min(size, 600)
    kind = rng.random()
    if kind < 0.3:
        return int(rng.integers(near))
    return int(size - 1 - rng.integers(near)) if kind < 0.45 else int(rng.integers(size))


_OPERATIONS = (
    *(_flip, _flip, _byte, _whole, _cut, _remove, _insert, _token, _number, _repeat, _splice),
)


def changed_value(rng: np.random.Generator, value: Any) -> Any:
    """A JSON value with one node of it replaced, removed, renamed or doubled."""
    places = list(_places(value))
    if not places:
        return _odd(rng)
    whole = json.loads(json.dumps(value))
    for _ in range(int(rng.geometric(0.7))):
        path = places[rng.integers(len(places))]
        at = whole
        try:
            for step in path[:-1]:
                at = at[step]
            _change(rng, at, path[-1])
        except (LookupError, TypeError):
            continue  # an earlier change removed it
    return whole


def _change(rng: np.random.Generator, at: Any, key: Any) -> None:
    kind = rng.random()
    if kind < 0.7:
        at[key] = _odd(rng)
    elif kind < 0.85:
        del at[key]
    elif isinstance(at, dict):
        at[f"{key}x"] = at.pop(key)
    elif isinstance(at, list):
        at.insert(key, at[key])


def _odd(rng: np.random.Generator) -> Any:
    if rng.random() < 0.02:
        nested: Any = 0
        for _ in range(int(rng.choice([5, 300, 900]))):
            nested = [nested]
        return nested
    return _ODD[rng.integers(len(_ODD))]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items if isinstance(value, dict | list) else ():
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from _places(item, (*path, key))


def _in_zip(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """One array of an npz file is damaged, and the checksums are those of the damaged one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    name = names[rng.integers(len(names))]
    kind = rng.random()
    if kind < 0.1:
        del members[name]
    elif kind < 0.2:
        members[names[rng.integers(len(names))]] = members[name]
    elif kind < 0.5:  # the header, which is text
        members[name] = damaged(rng, members[name][:128], ()) + members[name][128:]
    else:
        members[name] = damaged(rng, members[name], list(members.values()))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for member, content in members.items():
            # With a date of its own: the same bytes whenever it is made.
            plain = zipfile.ZipInfo(member)
            archive.writestr(plain, content, zipfile.ZIP_DEFLATED, compresslevel=1)
    return target.getvalue()


def _in_json(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    return json.dumps(changed_value(rng, json.loads(data))).encode()


def _in_lines(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    lines = data.splitlines()
    at = int(rng.integers(len(lines)))
    lines[at] = _in_json(rng, lines[at], ())
    return b"\n".join(lines) + b"\n"


def _in_safetensors(rng: np.random.Generator, data: bytes, _: Sequence[bytes]) -> bytes:
    """The header is changed, or the numbers."""
    end = 8 + int.from_bytes(data[:8], "little")
    header, numbers = json.loads(data[8:end]), data[end:]
    if rng.random() < 0.5:
        numbers = damaged(rng, numbers, ()).ljust(len(numbers), b"\xff")[: len(numbers)]
    elif rng.random() < 0.5 and "__metadata__" in header:
        about = header["__metadata__"]
        key = next(iter(about))
        about[key] = json.dumps(changed_value(rng, json.loads(about[key])))
    else:
        header = changed_value(rng, header)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


_INSIDE: dict[str, Callable[[np.random.Generator, bytes, Sequence[bytes]], bytes]] = {
    "npz": _in_zip,
    "json": _in_json,
    "jsonl": _in_lines,
    "safetensors": _in_safetensors,
}
