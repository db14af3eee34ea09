"""Rows absorbed into G = UᵀDU alone, with what each of them does to any target: its residuals and its gains.

A target y then takes nothing but vectors: ρ ← y; for each k, ρ ← ρ − r_k c_k and c_k ← c_k + β_k ρ. So a target may be
looked at, and changed, before it is learned. The arithmetic of U and D is that of tiles.py, in the same order.
"""

from onward.core.compile import inlined
from onward.core.factor import absorb_value, rotate
from onward.core.simd import fma
from onward.core.tiles import BETA0, BETA1, R0, R1, SHARE0, SHARE1, A, Q, sweep
from onward.core.types import Matrix, Vector
from onward.core.unrolled import TAKEN_OVER

COMPILED_FROM = "0dd62fe5022d3cdc"  # other files whose code is compiled into this one: see tools/digests.py


@inlined
def absorb_gains(U: Matrix, D: Vector, rows: int, R: Matrix, S: Matrix, gains: Matrix, inverses: Matrix) -> None:
    """Absorb the rows in R, a tile with weights S[:, A] and S[:, Q] = 0, into U and D. No pivot may be empty.

    Overwrites U, D, S, and for each row R with its residuals r, `gains` with β and `inverses` with 1/D, as they are
    once the row is absorbed; S[:, Q] takes the leverage from before it.
    """
    d = D.shape[0]
    k = 0
    while k < d:
        pair = k + 1 < d
        u = U[k, k + 1] if pair else 0.0
        D_0, D_1 = D[k], D[k + 1] if pair else 1.0
        inverse_0, inverse_1 = 1.0 / D_0, 1.0 / D_1
        for b in range(rows):
            r = R[b, k]
            q = fma(r * inverse_0, r, S[b, Q])
            beta, share, a, D_0, inverse_0 = rotate(r, S[b, A], D_0)
            S[b, R0], S[b, BETA0], S[b, SHARE0] = r, beta, share
            gains[b, k], inverses[b, k] = beta, inverse_0
            if pair:
                r, u = absorb_value(R[b, k + 1], u, r, beta, share)
                q = fma(r * inverse_1, r, q)
                beta, share, a, D_1, inverse_1 = rotate(r, a, D_1)
                S[b, R1], S[b, BETA1], S[b, SHARE1] = r, beta, share
                gains[b, k + 1], inverses[b, k + 1] = beta, inverse_1
            S[b, A], S[b, Q] = a, q
        taken_over = not (D[k] > 2.0 * TAKEN_OVER * D_0 and (not pair or D[k + 1] > 2.0 * TAKEN_OVER * D_1))
        D[k] = D_0
        if pair:
            D[k + 1] = D_1
            sweep(U, k, rows, R, S, taken_over)
            U[k, k + 1] = u
            for b in range(rows):  # after the sweep: single stores before it would stall its vector loads
                R[b, k + 1] = S[b, R1]
        k += 2
