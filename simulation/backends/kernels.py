"""Warp kernels of the GPU backend. (Warp reads the annotations, so this module must not postpone them.)"""

import warp as wp

MAX_VALUE = wp.constant(1.0e10)  # type: ignore[no-untyped-call]
"""MuJoCo's mjMAXVAL: a state beyond it has failed."""


@wp.kernel
def find_failed(
    qpos: wp.array2d(dtype=float),  # type: ignore[valid-type]
    qvel: wp.array2d(dtype=float),  # type: ignore[valid-type]
    relevant: int,
    overflow: wp.array(dtype=int),  # type: ignore[valid-type]
    failed: wp.array(dtype=wp.bool),  # type: ignore[valid-type]
    counts: wp.array(dtype=int),  # type: ignore[valid-type]
) -> None:
    """Mark worlds whose state is not finite or whose contacts or constraints did not fit; clear the overflow marks.

    `counts` (3,) gains the failed worlds, those that overflowed, and the union of their overflow bits.
    """
    world = wp.tid()
    bad = int(0)  # noqa: UP018  (a variable to Warp; a literal would be a constant)
    for i in range(qpos.shape[1]):
        if not wp.abs(qpos[world, i]) < MAX_VALUE:
            bad = 1
    for i in range(qvel.shape[1]):
        if not wp.abs(qvel[world, i]) < MAX_VALUE:
            bad = 1
    lost = overflow[world] & relevant
    overflow[world] = 0
    if lost != 0:
        bad = 1
        wp.atomic_add(counts, 1, 1)
        wp.atomic_or(counts, 2, lost)
    failed[world] = bad != 0
    if bad != 0:
        wp.atomic_add(counts, 0, 1)
