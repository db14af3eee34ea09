"""Model files: exact, whole or not at all, and nothing in them is ever executed."""

import hashlib
import json
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import onward
from onward import ForwardRegressor, RidgeRegressor, StorageError, load, storage
from onward.atomic_files import write_atomically
from onward.regression import OnlineRegressor

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))

MODELS: dict[str, OnlineRegressor] = {
    "forward": ForwardRegressor(0.1).fit(X, Y[:, 0]),
    "ridge": RidgeRegressor(clip=1.5, fit_intercept=False).fit(X, Y[:, 0]),
    "several targets": ForwardRegressor(prior_mean=X[:2], prior_intercept=[1.0, 2.0]).fit(X, Y),
    "rank-deficient": ForwardRegressor(0.0).fit(X[:2], Y[:2, 0]),
    "named": ForwardRegressor().fit(pd.DataFrame(X, columns=["ä b", "c", '"']), Y[:, 0]),
    "grown": RidgeRegressor(prior_mean={"a": 1.0, "z": 2.0}).learn_one({"a": 1.0, 7: 2.0}, 3.0),
    "numpy settings": ForwardRegressor(np.float64(0.5), prior_mean=np.ones(3)).fit(X, Y[:, 0]),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.onward"
    MODELS["forward"].save(path)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_going_on_from_a_file_is_never_having_stopped(name: str, tmp_path: Path) -> None:
    model: OnlineRegressor = pickle.loads(pickle.dumps(MODELS[name]))
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is type(model)
    for key, value in model.get_params().items():
        assert_array_equal(loaded.get_params()[key], value)
    assert_array_equal(getattr(loaded, "feature_names_in_", None), getattr(model, "feature_names_in_", None))
    for one in (model, loaded):
        if name == "grown":
            one.learn_one({"z": 1.0, "a": 2.0}, 1.0)
        elif name != "named":
            one.partial_fit(X, Y if name == "several targets" else Y[:, 0])
        one.learn_one(np.arange(3.0), [1.0, 2.0] if name == "several targets" else 1.0)
    assert_array_equal(loaded.coef_, model.coef_)
    assert_array_equal(loaded.information_.U, model.information_.U)
    for attribute in ("regularized_loss_", "online_loss_", "n_seen_", "information_gain_", "intercept_"):
        assert_array_equal(getattr(loaded, attribute), getattr(model, attribute))


@given(data=st.data())
def test_any_truncation_or_altered_byte_is_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("altered") / "m"
    MODELS["forward"].save(path)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:position]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"not an Onward model file|truncated or altered|written in format"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + b"0" * 500, pickle.dumps([1, 2])])
def test_foreign_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(StorageError, match="not an Onward model file"):
        load(tmp_path / "m")


def forged(path: Path, header: Any, version: int = storage.VERSION, body: bytes = b"") -> Path:
    """A file whose checksum is right but whose contents are not."""
    text = json.dumps(header).encode()
    content = storage.SIGNATURE + struct.pack("<IQ", version, len(text)) + text + body
    path.write_bytes(content + hashlib.sha256(content).digest())
    return path


def test_newer_unknown_and_inconsistent_files(tmp_path: Path) -> None:
    cases: list[tuple[Any, int, str]] = [
        ({}, 99, "written in format 99, but this version of onward reads formats up to 1; upgrade"),
        (
            {"kind": "teapot", "settings": {}, "arrays": []},
            1,
            "'teapot', expected one of .*policy, ridge, runs",
        ),
        ({"kind": "forward", "settings": {}, "arrays": []}, 1, "do not fit together"),
        ({"kind": "forward"}, 1, "header does not describe the file"),
        ([], 1, "header does not describe the file"),
        ({"kind": "f", "settings": {}, "arrays": [{"name": "U", "dtype": "|O", "shape": [1]}]}, 1, "does not describe"),
        (
            {"kind": "f", "settings": {}, "arrays": [{"name": "U", "dtype": "<f8", "shape": [9]}]},
            1,
            "does not describe",
        ),
    ]
    for header, version, message in cases:
        with pytest.raises(StorageError, match=message):
            load(forged(tmp_path / "m", header, version))


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")


def test_an_earlier_file_survives_a_failing_save(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        MODELS["ridge"].save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_unfitted_models_and_odd_names_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"not fitted yet"):
        ForwardRegressor().save(tmp_path / "m")
    odd = ForwardRegressor().learn_one({("a", 1): 1.0}, 1.0)
    with pytest.raises(ValueError, match="feature names must be text or whole numbers"):
        odd.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_file_keeps_its_permissions(saved: Path) -> None:
    saved.chmod(0o640)
    MODELS["ridge"].save(saved)
    assert saved.stat().st_mode & 0o777 == 0o640


def test_a_save_clears_what_a_killed_one_left(saved: Path) -> None:
    old, new, others, link = (
        saved.parent / f".{name}.tmp"
        for name in (
            "model.onward.abcd1234",
            "model.onward.abcd5678",
            "model.onward2.abcd1234",
            "model.onward.link1234",
        )
    )
    for path in (old, new, others):
        path.write_bytes(b"half")
    link.symlink_to(others)
    foreign = saved.parent / ".model.onward.notes.tmp"
    foreign.write_bytes(b"mine")
    for path in (old, others, foreign):
        os.utime(path, (0, 0))
    os.utime(link, (0, 0), follow_symlinks=False)
    MODELS["ridge"].save(saved)
    assert {each.name for each in saved.parent.iterdir()} == {path.name for path in (saved, new, others, link, foreign)}


def test_another_process_goes_on_exactly(saved: Path) -> None:
    code = (
        "import sys, numpy as np, onward; m = onward.load(sys.argv[1]);"
        "print(m.learn_one(np.arange(3.0), 1.0).online_loss_.hex())"
    )
    out = subprocess.run([sys.executable, "-c", code, saved], capture_output=True, text=True, check=True).stdout
    model = onward.load(saved).learn_one(np.arange(3.0), 1.0)
    assert out.strip() == model.online_loss_.hex()


def test_any_bytes_are_written_wholly_through_a_link_or_not_at_all(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    link.symlink_to(path)
    write_atomically(link, b"first")
    write_atomically(str(link), b"second")
    assert link.is_symlink()
    assert path.read_bytes() == b"second"
    with pytest.raises(FileNotFoundError, match=r"cannot save to .*page\.html: the folder .*missing does not exist"):
        write_atomically(tmp_path / "missing" / "page.html", b"")
    assert {each.name for each in tmp_path.iterdir()} == {"page.html", "link.html"}
