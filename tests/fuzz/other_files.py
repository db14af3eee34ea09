"""Files that are no models, altered: journals and logs of bandits, and what a cache of chunks says of its front."""

import copy
import json
import random
import struct
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from onward.bandits import Disjoint, Greedy, LinTS, LinUCB, LoggedData, evaluate, replay_journal
from onward.core import TooExtremeError
from onward.scale.chunk_cache import ChunkCache
from onward.storage import StorageError
from tests.fuzz.forging import HOSTILE, VALUES, alter_place
from tests.fuzz.using import Lie, use

LONGEST = 1000
_SIGNATURE = b"\x89ONWLOG\n"


def _shown(error: Exception, folder: Path) -> str:
    """The words of a refusal; Lie if they are not one short line of ours."""
    words = str(error).replace(str(folder), "")
    if len(words) > LONGEST or not words.isprintable():
        raise Lie(f"a message of {len(words):,} characters: {words[:100]!r}") from error
    return f"{type(error).__name__}: {words}"


# Journals


def journals() -> dict[str, bytes]:
    """Real ones, by name."""
    rng, found = np.random.default_rng(0), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, policy in (("journal", LinTS(seed=1)), ("journal of arms", Disjoint(LinUCB(seed=1), ["x", "y"]))):
            path = Path(folder) / name
            with policy.journal(path):
                for x in rng.standard_normal((4, 3)):
                    if isinstance(policy, Disjoint):
                        policy.learn(policy.choose(x), x, 1.0)
                        policy.decide(x, "late")
                    else:
                        policy.learn(x, float(policy.choose(np.stack([x, -x]))))
                        policy.decide(np.stack([x, -x]), "late")
                    policy.reward("late", 0.5)
                policy.decide(x if isinstance(policy, Disjoint) else np.stack([x, -x]), "other")
                policy.reward_many({"other": 1.0})
            found[name] = path.read_bytes()
    return found


def forged_journal(rng: random.Random, data: bytes) -> bytes:
    """A journal with a record or two altered, and checksums that are right."""
    records, at = [], len(_SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        records.append(data[at + 12 : at + 12 + length])
        at += 12 + length
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(records))
        if rng.random() < 0.1:
            records.insert(rng.randrange(len(records)), records[place])
            continue
        (length,) = struct.unpack_from("<I", records[place])
        header, rest = json.loads(records[place][4 : 4 + length]), bytearray(records[place][4 + length :])
        if rng.random() < 0.3 and len(rest) >= 8:
            struct.pack_into("<d", rest, 8 * rng.randrange(len(rest) // 8), rng.choice(HOSTILE))
        else:
            alter_place(rng, header)
        text = json.dumps(header).encode()
        records[place] = struct.pack("<I", len(text)) + text + bytes(rest)
    out = [_SIGNATURE]
    for contents in records:
        frame = struct.pack("<II", len(contents), zlib.crc32(contents))
        out.append(frame + struct.pack("<I", zlib.crc32(frame)) + contents)
    return b"".join(out)


def use_journal(path: Path) -> list[str]:
    """Replay it, and use the policy."""
    try:
        policy = replay_journal(path)
    except StorageError as error:
        return [_shown(error, path.parent)]
    return use(policy)


# Logs

_ACTIONS = {"actions": [[1.0, 0.0], [0.0, 1.0]], "taken": 0, "propensity": 0.5, "reward": 1.0, "key": "a"}
_ARMS = {"context": [1.0, -0.5], "n_arms": 2, "arms": ["x", "y"], "taken": 1, "propensity": 0.25, "reward": 0.0}
_METHODS = ("ips", "snips", "dr", "dm", "replay", "switch", "dros")


def logs() -> dict[str, bytes]:
    """Real ones, by name."""
    return {
        name: b"".join(json.dumps(record | {"reward": float(row % 3)}).encode() + b"\n" for row in range(12))
        for name, record in (("log", _ACTIONS | {"probabilities": [0.5, 0.5]}), ("log of arms", _ARMS))
    }


def forged_log(rng: random.Random, data: bytes) -> bytes:
    """A log with values altered in a line or two, or in all lines alike."""
    lines = data.splitlines()
    for _ in range(rng.choice((1, 1, 2))):
        seed, everywhere = rng.random(), rng.random() < 0.4
        for place in range(len(lines)) if everywhere else [rng.randrange(len(lines))]:
            own = random.Random(seed)
            try:
                record = json.loads(lines[place])
            except ValueError:
                continue
            if isinstance(record, dict) and record:
                alter_place(own, record)
            lines[place] = json.dumps(record).encode()
        if rng.random() < 0.1:
            place = rng.randrange(len(lines))
            lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
    return b"\n".join(lines)


def use_log(path: Path, seed: int) -> list[str]:
    """Read it, and judge a policy by it."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            log = LoggedData.read(path)
            policy: Any = Greedy(seed=0)
            if log.contexts is not None and log.arms is not None and rng.random() < 0.5:
                policy = Disjoint(LinUCB(seed=0), log.arms)
            value = evaluate(policy, log, method=rng.choice(_METHODS), seed=0)  # type: ignore[arg-type]
        except ValueError as error:
            if type(error) not in (ValueError, TooExtremeError):
                raise
            return [_shown(error, path.parent)]
    if value.matched and not np.isfinite([value.value, value.lower, value.upper]).all():
        raise Lie(f"a value that is not finite: {value.value}, {value.lower}, {value.upper}")
    return []


# The front of a cache


def forged_front(rng: random.Random) -> bytes:
    """What may stand in front.json."""
    if rng.random() < 0.2:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(20))) + b"[" * rng.choice((0, 100_000))
    return json.dumps(copy.deepcopy(rng.choice(VALUES))).encode()


def use_front(path: Path) -> list[str]:
    """Whatever it says, the front is some of the chunks."""
    cache = ChunkCache(path.parent / "chunks", {}, resume=True)
    assert cache.folder is not None
    (cache.folder / "front.json").write_bytes(path.read_bytes())
    if not 1 <= cache.front(3, 8) <= 8:
        raise Lie("a front that is none")
    return []
