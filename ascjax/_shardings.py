"""What a move does to shardings: leading axes keep theirs, the flat axis is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ._compat import manual_axes, vary_over
from ._errors import SupportError


def spec_of(x: Any) -> tuple:
    """The mesh axes of each axis of a traced value, None where it is not sharded."""
    spec = tuple(x.sharding.spec)
    return spec + (None,) * (x.ndim - len(spec))


def _names(part: Any) -> tuple:
    """The mesh axes in one entry of a partition spec."""
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def refuse_flat(operands: tuple) -> None:
    """Raise SupportError where an operand is sharded along its last axis."""
    for x in operands:
        if spec_of(x)[-1] is not None:
            raise SupportError(
                "ascjax",
                "src and dst",
                "not be sharded along their last axis, the flat buffer",
                f"the sharding {x.sharding.spec}",
                "Shard leading (batch) axes instead.",
                "instructions.md, Units",
            )


def align(src: jax.Array, dst: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both operands with the same leading axes, sharded and varying alike."""
    lead = jnp.broadcast_shapes(src.shape[:-1], dst.shape[:-1])
    specs, merged = _merged((src, dst), 1)
    meshes = [jax.typeof(x).sharding.mesh for x in (src, dst)]
    mesh = meshes[0] if any(specs[0]) or meshes[1].empty else meshes[1]
    axes = manual_axes(jax.typeof(src)) | manual_axes(jax.typeof(dst))
    aligned = []
    for x, spec, own in zip((src, dst), specs, meshes, strict=True):
        with jax.sharding.use_abstract_mesh(own):  # not the mesh in use
            x = jnp.broadcast_to(x, (*lead, x.shape[-1]))
        if spec != merged or own != mesh:
            x = jax.sharding.reshard(
                x, NamedSharding(mesh, PartitionSpec(*merged, None))
            )
        aligned.append(vary_over(x, axes))
    return aligned[0], aligned[1]


def _merged(operands: tuple, own: int) -> tuple[list[tuple], tuple]:
    """The specs of the axes before the last `own` ones, and what they are together."""
    specs = [spec_of(jax.typeof(x))[:-own] for x in operands]
    rank = max(map(len, specs))
    specs = [(None,) * (rank - len(spec)) + spec for spec in specs]
    merged = tuple(
        next((part for part in parts if part is not None), None)
        for parts in zip(*specs, strict=True)
    )
    named = [axis for part in merged for axis in _names(part)]
    if len(set(named)) < len(named):
        raise SupportError(
            "ascjax",
            "operands",
            "be sharded over different mesh axes in different leading axes",
            f"leading axes sharded {' and '.join(map(str, specs))}",
            "Shard the batch of all of them alike.",
            "instructions.md, Units",
        )
    return specs, merged


def batched(f: Callable[..., jax.Array], own: int) -> Callable[..., jax.Array]:
    """`f` of operands with `own` axes each behind those of a batch, as is its result.

    Under a mesh of Explicit axes `f` runs with Auto ones, and the result is sharded as
    the operands are together. An operand may be None.
    """

    def call(*operands: jax.Array | None) -> jax.Array:
        given = tuple(x for x in operands if x is not None)
        meshes = [jax.typeof(x).sharding.mesh for x in given]
        meshes.append(jax.sharding.get_abstract_mesh())
        explicit = [mesh for mesh in meshes if AxisType.Explicit in mesh.axis_types]
        if not explicit:
            return f(*operands)
        _, merged = _merged(given, own)
        out = PartitionSpec(*merged, *(None,) * own)
        with jax.sharding.use_abstract_mesh(explicit[0]):
            run: Any = jax.sharding.auto_axes(f, out_sharding=out)
            return run(*operands)

    return call


def with_auto_axes(f: Callable[..., jax.Array], x: jax.Array) -> Callable:
    """`f`, run with the mesh's Explicit axes as Auto ones; sharded as `x` comes out.

    Inside a move only whole buffers are cut and joined, so that the compiler's own
    propagation keeps the leading axes; saying so step by step would add nothing.
    """
    spec = spec_of(jax.typeof(x))
    if any(spec):
        out = PartitionSpec(*spec[:-1], None)
        return jax.sharding.auto_axes(f, out_sharding=out)

    def on_its_mesh(*operands: jax.Array) -> jax.Array:
        # Else what `f` makes anew would lie on the mesh in use, which `x` may not.
        with jax.sharding.use_abstract_mesh(jax.typeof(x).sharding.mesh):
            return f(*operands)

    return on_its_mesh
