"""What a reward function may use: the allow-list, as names. Imports no torch.

Everything absent is refused. In-place methods (`add_`), random functions, anything that reaches a file, a process or
Python's own machinery is absent on purpose. Functions that allocate what their arguments say are named in SIZED:
`guards` bounds them when they run.
"""

from __future__ import annotations

import re

MAX_SOURCE = 20_000
"""Characters of a source."""
MAX_NODES = 6_000
"""Nodes of its syntax tree."""
MAX_DEPTH = 100
"""Levels of its syntax tree."""
MAX_LOOP_NESTING = 2
MAX_ITERATIONS = 64
"""Iterations of one loop: enough for joints and fingers, too few for worlds."""
MAX_COMPONENTS = 32
MAX_NAME = 64
"""Letters of a component's name."""
COMPONENT_NAME = re.compile(rf"[\w .+/()\[\]:-]{{1,{MAX_NAME}}}")
MAX_ELEMENTS = 1 << 26
"""Elements of a tensor that a reward may allocate (256 MB of float32)."""
MAX_PRODUCTS = 1 << 31
"""Multiplications of one product of matrices: 0.2 s with floats, 2 s with whole numbers."""
MAX_SORTED = 1 << 22
"""Elements that one call may sort, in two or three seconds."""
MAX_LENGTH = 4096
"""Elements of a list or tuple: as many as two nested loops append."""
MAX_INT = 1 << 31
"""Largest integer constant."""
RESERVED_COMPONENTS = frozenset({"total", "episode_length"})
"""Names that a reward trace uses itself (trainer.records.CandidateResult)."""

MODULE_ALIASES = {"torch": "torch", "math": "math", "nn": "torch.nn", "F": "torch.nn.functional", "np": None}
"""Names by which sources call modules; None is refused with a hint."""

IMPORTS = frozenset(
    {
        *("torch", "math", "typing", "__future__", "torch.nn.functional", "torch.nn", "torch.functional"),
        *("isaacgym.torch_utils", "isaacgymenvs.utils.torch_jit_utils", "numpy"),
    }
)
"""Modules whose import lines are dropped, because their allowed names are always available; of numpy these are the
constants (`parsing` turns `np.pi` into math.pi)."""

BUILTINS = frozenset(
    {"abs", "bool", "enumerate", "float", "int", "len", "list", "max", "min", "range", "sum", "tuple", "zip"}
)

MATH_FUNCTIONS = frozenset(
    {
        *("acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "degrees", "exp", "fabs", "floor", "fmod", "hypot"),
        *("isclose", "isfinite", "isnan", "log", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt"),
        *("tan", "tanh"),
    }
)
MATH_CONSTANTS = frozenset({"e", "inf", "pi", "tau"})

POINTWISE = frozenset(
    {
        *("abs", "absolute", "acos", "add", "asin", "atan", "atan2", "arctan2", "arccos", "arcsin", "arctan", "ceil"),
        *("clamp", "clamp_max", "clamp_min", "clip", "cos", "cosh", "deg2rad", "div", "divide", "eq", "erf", "exp"),
        *("expm1", "exp2", "floor", "floor_divide", "fmod", "ge", "greater", "gt", "isfinite", "isinf", "isnan", "le"),
        *("lerp", "less", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor"),
        *("lt", "maximum", "minimum", "mul", "multiply", "nan_to_num", "ne", "neg", "negative", "pow", "rad2deg"),
        *("reciprocal", "relu", "remainder", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softmax", "sqrt"),
        *("square", "sub", "subtract", "tan", "tanh", "true_divide", "trunc", "hypot", "isclose", "bitwise_and"),
        *("bitwise_or", "bitwise_not"),
    }
)
REDUCTIONS = frozenset(
    {
        *("all", "amax", "amin", "any", "argmax", "argmin", "argsort", "count_nonzero", "cummax", "cummin", "cumprod"),
        *("cumsum", "diff", "dist", "logsumexp", "max", "mean", "median", "min", "norm", "prod", "sort", "std", "sum"),
        *("topk", "var"),
    }
)
SHAPING = frozenset(
    {
        *("chunk", "clone", "cross", "diagonal", "dot", "flatten", "flip", "gather", "index_select", "masked_fill"),
        *("matmul", "mm", "bmm", "movedim", "narrow", "numel", "permute", "reshape", "roll", "select", "split"),
        *("squeeze", "take_along_dim", "transpose", "unbind", "unflatten", "unsqueeze", "where"),
        *("broadcast_to", "repeat_interleave", "tile"),
    }
)
TORCH_FUNCTIONS = (
    POINTWISE
    | REDUCTIONS
    | SHAPING
    | frozenset(
        {
            *("arange", "as_tensor", "broadcast_tensors", "cat", "column_stack", "concat", "concatenate"),
            *("full", "full_like", "hstack", "is_tensor", "linspace", "ones", "ones_like", "stack", "tensor", "vstack"),
            *("zeros", "zeros_like", "einsum", "copysign", "inner", "cosine_similarity"),
            *("linalg.norm", "linalg.vector_norm", "linalg.cross", "linalg.vecdot"),
            *("special.expit", "special.xlogy"),
            *(f"nn.functional.{name}" for name in ("relu", "elu", "gelu", "silu", "softplus", "sigmoid", "tanh")),
            *(f"nn.functional.{name}" for name in ("normalize", "cosine_similarity", "softmax", "huber_loss")),
            *(f"nn.functional.{name}" for name in ("leaky_relu", "smooth_l1_loss", "mse_loss", "l1_loss")),
        }
    )
)
TORCH_CONSTANTS = frozenset(
    {"pi", "inf", "e", "float", "float32", "float64", "double", "int", "int32", "int64", "long", "bool"}
)

METHODS = (
    POINTWISE
    | REDUCTIONS
    | SHAPING
    | frozenset(
        {
            *("bool", "contiguous", "detach", "dim", "double", "expand", "expand_as", "float", "int", "item", "long"),
            *("new_full", "new_ones", "new_tensor", "new_zeros", "repeat", "reshape_as", "size", "swapaxes", "t", "to"),
            *("type_as", "view", "view_as", "items", "keys", "values", "append", "get"),
        }
    )
)
ATTRIBUTES = frozenset({"shape", "device", "dtype", "ndim", "T", "mT", "values", "indices"})
"""Attributes that may be read without a call."""

SIZED = frozenset(
    {
        *("zeros", "ones", "full", "arange", "linspace", "tile", "repeat_interleave", "broadcast_to", "expand"),
        *("new_full", "new_ones", "new_zeros", "repeat"),
    }
)
"""Functions and methods that allocate by their arguments; `guards.call_allocating` bounds them."""

PRODUCTS = frozenset({"matmul", "mm", "bmm", "dot", "inner", "einsum", "norm"})
"""Functions and methods that multiply matrices, or may decompose one (linalg.norm); `cost_guards.call_product` bounds
them."""
SORTING = frozenset({"sort", "argsort", "topk", "median"})
"""Functions and methods that sort; `cost_guards.call_sorting` bounds them."""

KEYWORDS = frozenset(
    {
        *("alpha", "axis", "base", "beta", "condition", "correction", "delta", "device", "dim", "dims", "dtype"),
        *("descending", "end", "eps", "exponent", "fill_value", "index", "indexing", "input", "keepdim", "key", "k"),
        *("largest", "max", "max_norm", "min", "mask", "n", "nan", "negative_slope", "neginf", "ord"),
        *("other", "p", "posinf", "prepend", "append", "reduction", "repeats", "rounding_mode", "shape", "shifts"),
        *("size", "start", "step", "steps", "strict", "tensors", "threshold", "unbiased", "value", "weight", "x1"),
        *("x2", "dim0", "dim1", "copy", "non_blocking", "abs_tol", "rel_tol", "atol", "rtol", "decimals", "tensor"),
        *("x", "y", "a", "b", "q", "v", "q1", "q2", "angle", "lower", "upper", "roll", "pitch", "yaw"),
    }
)
"""Argument names; `out`, `generator` and `requires_grad` are absent on purpose."""
TEXT_VALUES = {
    "p": {"fro"},
    "ord": {"fro"},
    "rounding_mode": {"floor", "trunc"},
    "reduction": {"none"},
}
"""The only texts that may be passed, by argument name."""

POSITIONAL = {
    "nn.functional.elu": 2,
    "nn.functional.leaky_relu": 2,
    "nn.functional.normalize": 4,
    "nn.functional.relu": 1,
    "nn.functional.silu": 1,
    "norm": 4,
}
"""How many arguments may be given by position where a later one is `inplace` or `out`."""

HELPERS = frozenset(
    {
        *("quat_mul", "quat_conjugate", "quat_rotate", "quat_rotate_inverse", "quat_apply", "quat_unit", "normalize"),
        *("quat_axis", "quat_diff_rad", "quat_from_angle_axis", "get_euler_xyz", "normalize_angle", "tensor_clamp"),
        *("quat_from_euler_xyz", "quat_to_angle_axis", "my_quat_rotate", "get_basis_vector", "calc_heading"),
        *("tf_vector", "tf_apply", "tf_inverse", "tf_combine", "scale", "unscale", "saturate", "copysign", "to_torch"),
    }
)
"""Functions that the papers' environments offer (`helpers`), mostly on quaternions xyzw."""
