"""What is kept of each arm to be quick: its coefficients, how wide it reaches, and bounds on its leverage. Compiled.

An arm's buffer is some kilobytes; of ten thousand arms, a choice cannot look at all of them. Its summary is a row of a
matrix: the coefficients and a few numbers, from which follows what its index cannot exceed. Where that is not sharp
enough there is a second bound: the leverage itself in single precision, from a form of G⁻¹ that is used for nothing
else. The index that decides is always read from the buffer.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.bandits.indices import is_even_radius, level_of, noise_radius, noise_sums, whole_radius
from onward.bandits.memories import acting_model
from onward.bandits.model import Model, solved
from onward.bandits.pruning import is_safe, longest_noted
from onward.bandits.settings import EPSILON_GREEDY, GREEDY, view_head
from onward.bandits.tuning import view_tuning
from onward.core.compile import compiled, inlined
from onward.core.factor import padded_to, square_of
from onward.core.simd import dot_from
from onward.core.types import Matrix, Vector

COMPILED_FROM = "94261634b317d553"  # other files whose code is compiled into this one: see tools/digests.py

# After the coefficients; all of them finite, for the coefficients are multiplied by zeros there.
STALE, NOISE, CEILING, LENGTH, UNSAFE, NO_FORM, FORM_CEILING, COUNTED, LOSS, SQUARES = range(10)
N_NUMBERS = 12

_LANES, _CHAINS = 8, 4
_STEP = _LANES * _CHAINS
_F32 = ir.FloatType()
_VECTOR = ir.VectorType(_F32, _LANES)


def summary_width(d: int) -> int:
    """Numbers in a summary."""
    return int(padded_to(d)) + N_NUMBERS


def form_width(d: int) -> int:
    """Numbers in a form: a triangle, padded to whole steps of `_dot_single`."""
    return -(-(d * (d + 1) // 2) // _STEP) * _STEP


@compiled
def summarise(buffer: Vector, summary: Matrix, slot: int) -> None:
    """Write the summary of the arm with this buffer."""
    head = view_head(buffer)
    model, second, _, window = acting_model(head, buffer)
    d, at, rule = head.lam.shape[0], summary.shape[1] - N_NUMBERS, head.settings[0].rule
    theta, noise = solved(model), 0.0
    for j in range(d):
        summary[slot, j] = theta[j]
    if rule not in (GREEDY, EPSILON_GREEDY):
        noise = noise_radius(head, model.factor, second, model.factor.counts[0].counted, window, longest_noted(head))
        if is_even_radius(head):
            noise = whole_radius(head, noise, 0.0)
    summary[slot, at + NOISE] = noise
    summary[slot, at + LENGTH] = math.sqrt(square_of(theta[:d]))
    summary[slot, at + NO_FORM] = 1.0
    summary[slot, at + STALE] = 0.0
    counted, loss, squares = noise_sums(head.settings[0].gamma, model.factor)
    summary[slot, at + COUNTED], summary[slot, at + LOSS], summary[slot, at + SQUARES] = counted, loss, squares
    note_floor(model, summary, slot)
    summary[slot, at + UNSAFE] = 0.0 if is_safe(head, model) else 1.0


@compiled
def level_of_arms(buffers: Matrix, summary: Matrix, arms: Matrix, record: Vector) -> float:
    """σ̂ from the rewards of all arms together, in whatever order they came; 1 where it is told. See `shared_record`.

    Summaries are written anew where they must be.
    """
    if record.shape[0] == 0 or view_tuning(record).about[0].pools == 0.0:
        return 1.0
    counted, loss, squares, at = 0.0, 0.0, 0.0, summary.shape[1] - N_NUMBERS
    for a in range(arms.shape[0]):
        slot = int(arms[a, 0])
        if slot == 0:
            continue
        if summary[slot, at + STALE] != 0.0:
            log = view_head(buffers[slot]).log[0]
            log.offered = max(log.offered, arms[a, 1])
            summarise(buffers[slot], summary, slot)
        counted += summary[slot, at + COUNTED]
        loss += summary[slot, at + LOSS]
        squares += summary[slot, at + SQUARES]
    # Each arm has to be met, and each feature once: what is learned of it in one arm is no surprise in another.
    return level_of(counted, loss, squares, view_head(buffers[0]).settings[0].dimension + arms.shape[0] - 1.0)


@inlined
def note_floor(model: Model, summary: Matrix, slot: int) -> None:
    """Note how large a leverage can be, for ‖x‖ = 1."""
    summary[slot, summary.shape[1] - N_NUMBERS + CEILING] = 1.0 / model.about[0].floor


@compiled
def write_form(buffer: Vector, summary: Matrix, forms: Any, slot: int) -> None:
    """Write G⁻¹ of the arm with this buffer, as a triangle in single precision and times the smallest eigenvalue.

    It is a bound's, not an estimate's: what rounding can do to it is added to the bound.
    """
    head = view_head(buffer)
    model = acting_model(head, buffer)[0]
    U, D, d, at = model.factor.U, model.factor.D, head.lam.shape[0], summary.shape[1] - N_NUMBERS
    V, floor = np.zeros((d, U.shape[1])), model.about[0].floor
    for j in range(d):
        V[j, j] = 1.0
        for k in range(j - 1, -1, -1):
            total = 0.0
            for i in range(k + 1, j + 1):
                total -= U[k, i] * V[i, j]
            V[k, j] = total
    for j in range(d):
        scale = math.sqrt(floor / D[j])
        for k in range(j + 1):
            V[k, j] *= scale
    m = 0
    for i in range(d):
        for j in range(i, d):
            forms[slot, m] = np.float32(dot_from(V, i, V[j], j))
            m += 1
    summary[slot, at + FORM_CEILING] = 1.0 / floor
    summary[slot, at + NO_FORM] = 0.0


@inlined
def outer_single(x: Vector, square: float, out: Any) -> None:
    """xxᵀ/‖x‖² as a triangle in single precision, such that a form's product with it is xᵀG⁻¹x. Overwrites out."""
    d, m = x.shape[0], 0
    for i in range(d):
        for j in range(i, d):
            out[m] = np.float32((1.0 if i == j else 2.0) * (x[i] * (x[j] / square)))
            m += 1


@inlined
def leverage_limit(summary: Matrix, forms: Any, slot: int, outer: Any, square: float, d: int) -> float:
    """What the leverage of x cannot exceed, from the form of the arm."""
    at = summary.shape[1] - N_NUMBERS
    rounding = 1e-7 * (16.0 + forms.shape[1] / _STEP) * math.sqrt(d)  # of ‖x‖² over the smallest eigenvalue
    share = _dot_single(forms, slot, outer) + rounding
    limit: float = square * min(summary[slot, at + CEILING], share * summary[slot, at + FORM_CEILING])
    return limit


@intrinsic
def _dot_single(typingctx: Any, matrix: Any, k: Any, v: Any) -> Any:
    """Σ matrix[k, j]·v[j] in single precision; the rows have whole steps."""
    signature = types.float64(matrix, types.intp, v)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, vector = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2))
        intp = args[1].type
        columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        row = builder.gep(rows.data, [builder.mul(args[1], columns)])
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{_LANES}f32"
        )
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(_CHAINS)]
        for place in sums:
            builder.store(ir.Constant(_VECTOR, [0.0] * _LANES), place)

        def load(pointer: Any, j: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(pointer, [j]), _VECTOR.as_pointer()), align=4)

        with cgutils.for_range_slice(builder, intp(0), columns, intp(_STEP), intp) as (j, _):
            for i, place in enumerate(sums):
                here = builder.add(j, intp(_LANES * i))
                builder.store(
                    builder.call(fused, [load(row, here), load(vector.data, here), builder.load(place)]), place
                )
        total = builder.load(sums[0])
        for place in sums[1:]:
            total = builder.fadd(total, builder.load(place))
        summed = builder.extract_element(total, ir.IntType(32)(0))
        for i in range(1, _LANES):
            summed = builder.fadd(summed, builder.extract_element(total, ir.IntType(32)(i)))
        return builder.fpext(summed, ir.DoubleType())

    return signature, codegen
