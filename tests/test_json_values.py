"""Values on their way to JSON: plain, and null for what is no finite number."""

import json
import math

import numpy as np
import pytest

from onward.json_values import to_json_values


def test_what_is_not_finite_becomes_null_at_any_depth() -> None:
    value = {1: [math.nan, (math.inf, -math.inf)], "array": np.array([[1.0, np.nan]]), "number": np.float64("inf")}
    found = to_json_values(value)
    assert found == {"1": [None, [None, None]], "array": [[1.0, None]], "number": None}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_plain_values_stay_what_they_are() -> None:
    value = {"text": "x", "whole": np.int64(3), "yes": np.bool_(True), "none": None, "half": 0.5}
    found = to_json_values(value)
    assert found == {"text": "x", "whole": 3, "yes": True, "none": None, "half": 0.5}
    assert [type(each) for each in found.values()] == [str, int, bool, type(None), float]


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected plain values .*, got set: \{1\}"):
        to_json_values({"values": [{1}]})
