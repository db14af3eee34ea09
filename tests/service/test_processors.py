"""What is folded is the same bits on each kind of processor."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from onward.bandits.recorded_choices import averaged
from onward.service.configuration import LoopConfig
from onward.service.entries import Action, Begin, Entry
from onward.service.loop import Loop

CONFIG = LoopConfig(policy={"name": "LinTS", "seed": 3}, mode="apprentice")


def played(n: int = 30) -> tuple[Loop, list[Entry]]:
    """A loop with so many actions at once that BLAS adds them in an order of its own, and its log."""
    rng = np.random.default_rng(0)
    entries = [Entry("news", Begin(CONFIG), at=0.0, seq=1)]
    loop = Loop.begin(entries[0])
    for i in range(n):
        actions = [Action(f"a{j}", {"x": float(rng.normal()), "y": float(rng.normal())}) for j in range(23)]
        decided = loop.propose(f"e{i}", {"u": 0.3}, actions, at=float(i), probability=0.5)
        entries.append(msgspec.structs.replace(decided, seq=loop.seq + 1))
        loop.fold(entries[-1])
        if i < n - 3:
            reward = loop.propose_reward(f"e{i}", float(rng.normal()), at=float(i))
            entries.append(msgspec.structs.replace(reward, seq=loop.seq + 1))
            loop.fold(entries[-1])
    return loop, entries


FOLD = """
import sys, msgspec
from pathlib import Path
from onward.service.entries import Entry
from onward.service.folding import fold_all
print(fold_all(msgspec.json.Decoder(Entry).decode_lines(Path(sys.argv[1]).read_bytes())).digest())
"""


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="BLAS has other names for other processors")
def test_folding_gives_the_same_bits_on_each_kind_of_processor(tmp_path: Path) -> None:
    loop, entries = played()
    path = tmp_path / "log.jsonl"
    path.write_bytes(msgspec.json.Encoder().encode_lines(entries))
    for kind in ("Prescott", "Haswell"):  # the kernels of OpenBLAS that are taken for it
        told = subprocess.run(
            [sys.executable, "-c", FOLD, str(path)],
            env=os.environ | {"OPENBLAS_CORETYPE": kind},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == loop.digest()


def test_probabilities_at_several_scales_are_added_in_order() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        shares, each = rng.random(8), rng.random((8, 23))
        expected = [0.0] * 23
        for share, row in zip(shares.tolist(), each.tolist(), strict=True):
            expected = [total + share * one for total, one in zip(expected, row, strict=True)]
        assert averaged(shares, each).tolist() == expected
    loop, _ = played()
    names = list(loop.encoder.columns)
    table = rng.normal(size=(23, len(names)))
    said = loop.learner.look_at(table, names, np.ones(23, dtype=np.bool_), 0.1)
    assert len(said.taken) > 1
    assert said.chances.tolist() == averaged(said.taken, said.by_scale).tolist()
