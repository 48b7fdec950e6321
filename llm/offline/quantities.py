"""Scalar quantities that a reward could use, derived from the names and shapes of the inputs a prompt documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from llm import syntax
from llm.offline.reading import Reading, split_words

MORE, NEAR_ONE, NEAR_ZERO, LESS, STAYING = "more", "near one", "near zero", "less", "staying"

# Words of a task (and of a judge) -> tags of the quantities that they speak about; named twice, they count twice.
MEANINGS: Mapping[str, tuple[str, ...]] = {
    "run": ("forward", "speed", "progress"),
    "forward": ("forward", "progress"),
    "walk": ("forward", "speed", "progress"),
    "fast": ("speed", "progress"),
    "slow": ("speed", "progress"),
    "straight": ("heading", "sideways"),
    "crooked": ("heading", "sideways"),
    "balance": ("upright", "angle"),
    "upright": ("upright", "angle"),
    "pole": ("pole",),
    "cart": ("cart",),
    "fall": ("upright", "height", "staying"),
    "falls": ("upright", "height", "staying"),
    "stand": ("upright", "height"),
    "jump": ("rise", "rise", "airborne", "airborne", "height"),
    "jumps": ("rise", "rise", "airborne", "airborne", "height"),
    "human": ("knee", "symmetry"),
    "knees": ("knee",),
    "legs": ("symmetry", "knee"),
    "limp": ("symmetry", "upright"),
    "limps": ("symmetry", "upright"),
    "wobble": ("spin", "sideways"),
    "wobbles": ("spin", "sideways"),
    "shaky": ("spin", "effort"),
    "jerky": ("effort", "joints"),
    "smooth": ("effort", "joints"),
    "crawls": ("height", "upright"),
    "sideways": ("sideways", "heading"),
    "reach": ("distance",),
    "point": ("distance",),
    "goal": ("distance",),
    "push": ("distance",),
    "throw": ("distance",),
    "hover": ("distance", "spin", "still"),
    "keep": ("distance", "still"),
    "stay": ("still",),
    "table": ("tray",),
    "lie": ("lying", "lying"),
    "sky": ("lying",),
    "checkpoint": ("distance", "progress"),
    "return": ("distance", "progress", "phase"),
    "turn": ("heading",),
    "spin": ("rotation", "rotation"),
    "orientation": ("rotation", "rotation"),
    "target": ("distance", "progress"),
    "follow": ("command", "command"),
    "velocities": ("command",),
    "open": ("opening", "opening"),
    "pull": ("opening",),
    "handle": ("distance",),
    "grasp": ("distance", "alignment"),
    "quickly": ("speed",),
}

# What the words of a task say about speed, height and direction.
STILL = frozenset({"keep", "balance", "hover", "stay", "lie", "hold"})
LYING = frozenset({"lie", "lies", "lying", "belly"})
REACHING = frozenset({"reach", "target", "checkpoint", "return", "goal"})
LIFTING = frozenset({"lift", "raise", "pick", "fall", "jump"})


@dataclass(frozen=True)
class Quantity:
    """A number per environment, with what is known about it."""

    name: str
    expression: str
    """Python over the inputs; shape (num_envs,)."""
    aim: str
    """more: larger is better. near one, near zero: best there. less: a cost, never negative. staying: a constant."""
    scale: float
    """A typical size."""
    tags: frozenset[str]
    relevance: float = 0.0
    """How much the task text speaks of it."""
    spoken: float = 0.0
    """How much the judge's own words speak of it."""

    @property
    def inputs(self) -> frozenset[str]:
        """The reward inputs that the expression reads."""
        nodes = list(ast.walk(syntax.parse_expression(self.expression)))
        called = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name)) - called - {"torch"}


def derive(reading: Reading) -> list[Quantity]:
    """All quantities, the most relevant for the task first."""
    shapes = {name: read_shape(text) for name, text in reading.inputs.items()}
    found: dict[str, Quantity] = {}
    rules = (
        _list_changes,
        _list_columns,
        _list_commands,
        _list_places,
        _list_states,
        _list_vectors,
        _list_alignments,
        _list_sides,
        _list_joints,
        _list_distances,
        _list_living,
    )
    for rule in rules:
        for quantity in rule(shapes, reading):
            found.setdefault(quantity.name, quantity)
    ranked = [
        replace(q, relevance=compute_relevance(q, reading.task), spoken=compute_relevance(q, reading.said))
        for q in found.values()
    ]
    return sorted(ranked, key=lambda q: (-q.relevance, q.name))


def compute_relevance(quantity: Quantity, text: str) -> float:
    """The number of meanings that the quantity shares with the words of `text`."""
    meant = [tag for word in split_words(text) for tag in (*MEANINGS.get(word, ()), word)]
    return float(sum(tag in quantity.tags for tag in meant))


def read_shape(text: str) -> tuple[int, ...] | None:
    """Dimensions after num_envs; () for one number per environment; None for a value that is not per environment."""
    match = re.search(r"\(\s*num_envs\s*,?([\d,\s]*)\)", text)
    return tuple(int(d) for d in re.findall(r"\d+", match[1])) if match else None


Shapes = Mapping[str, tuple[int, ...] | None]


def _make_quantity(name: str, expression: str, aim: str, scale: float, tags: str) -> Quantity:
    return Quantity(name, expression, aim, scale, frozenset(tags.split()) | (split_words(name) - {"speed", "velocity"}))


def _list_changes(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """X - prev_X: progress of a potential, rise of a position."""
    for name, dims in shapes.items():
        before = f"prev_{name}"
        if before not in shapes:
            continue
        if dims == ():
            yield _make_quantity("progress", f"{name} - {before}", MORE, 2.0, "progress forward speed target")
        elif dims == (3,):
            yield _make_quantity("climb", f"{name}[:, 2] - {before}[:, 2]", MORE, 0.02, "rise up")


def _list_columns(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Single columns that the observation code names in a comment: `env.dof_pos[:, 1],  # pole angle`."""
    pattern = r"^\s*(?:\w+\s*=\s*)?(?:env\.)?(\w+)\[:,\s*(\d+)\],?\s*#\s*([\w ]+?)\s*(?:$|[,(:])"
    for name, column, label in re.findall(pattern, reading.observation_source, re.MULTILINE):
        if shapes.get(name) is None:
            continue
        tags = split_words(label)
        moving = bool(tags & {"velocity", "speed"})
        extra = "angle" if "angle" in tags and not moving else ""
        aim = MORE if "opening" in tags else NEAR_ZERO
        scale = (0.5 if moving else 0.2) if aim == MORE else (2.0 if moving else 0.3)
        yield _make_quantity("_".join(re.findall(r"\w+", label.lower())), f"{name}[:, {column}]", aim, scale, extra)


def _list_commands(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Velocities asked for, x, y and yaw rate in the body's own frame, against those that it has."""
    if shapes.get("commands") != (3,) or shapes.get("root_states") != (13,):
        return
    linear, angular = (f"quat_rotate_inverse(root_states[:, 3:7], root_states[:, {c}])" for c in ("7:10", "10:13"))
    planar = f"torch.norm(commands[:, 0:2] - {linear}[:, 0:2], dim=-1)"
    yield _make_quantity("velocity_error", planar, NEAR_ZERO, 0.5, "command velocity")
    yield _make_quantity("yaw_rate_error", f"commands[:, 2] - {angular}[:, 2]", NEAR_ZERO, 0.5, "command heading")


def _list_states(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Rigid body states: position 0:3, quaternion xyzw 3:7, linear velocity 7:10, angular velocity 10:13."""
    for name, dims in shapes.items():
        if dims != (13,):
            continue
        of = "" if name.startswith("root") else f"{name}_"
        yield _make_height(of, name, reading)
        yield from _list_motions(of, name, 7, reading)
        turning = "10:12" if "commands" in reading.inputs else "10:13"  # a commanded yaw rate is no unrest
        unrest = f"torch.sum(torch.square({name}[:, {turning}]), dim=-1)"
        yield _make_quantity(f"{of}spin", unrest, LESS, 5.0, "spin stable")
        if "up_vec" not in shapes:
            yield _make_upright(of, name, 3)


def _make_upright(of: str, name: str, first: int) -> Quantity:
    """The z axis of a body's rotation, a quaternion xyzw that begins at column `first`."""
    tilt = f"1.0 - 2.0 * (torch.square({name}[:, {first}]) + torch.square({name}[:, {first + 1}]))"
    return _make_quantity(f"{of}upright", tilt, NEAR_ONE, 1.0, "upright stable")


def _make_height(of: str, name: str, reading: Reading) -> Quantity:
    """A large height is good, except for a robot that should lie."""
    lying = split_words(reading.task) & LYING
    return _make_quantity(f"{of}height", f"{name}[:, 2]", LESS if lying else MORE, 0.5, "height upright")


def _list_motions(of: str, name: str, first: int, reading: Reading) -> Iterator[Quantity]:
    """A velocity from column `first` on: what it is good for depends on whether the task is to stay or to go.

    What has a place of its own, a goal, should stay there.
    """
    task = split_words(reading.task)
    ahead, aside, up = (f"{name}[:, {first + axis}]" for axis in range(3))
    if task & STILL or {f"{of}pos", "goal_pos"} <= reading.inputs.keys():
        speed = f"torch.norm({name}[:, {first}:{first + 3}], dim=-1)"
        yield _make_quantity(f"{of}speed", speed, LESS, 1.0, "still stable wobble")
        return
    if "commands" in reading.inputs:
        yield _make_quantity(f"{of}vertical_speed", up, NEAR_ZERO, 0.5, "bounce")
        return
    if not (task & REACHING and "targets" in reading.inputs):
        yield _make_quantity(f"{of}forward_speed", ahead, MORE, 2.0, "forward speed velocity")
        yield _make_quantity(f"{of}sideways_speed", aside, NEAR_ZERO, 0.5, "sideways stable")
    plane = f"{name}[:, {first}:{first + 2}]"
    yield _make_quantity(f"{of}ground_speed", f"torch.norm({plane}, dim=-1)", MORE, 2.0, "speed velocity")
    yield _make_quantity(f"{of}vertical_speed", up, NEAR_ZERO, 0.5, "bounce")
    yield _make_quantity(f"{of}rising_speed", f"torch.clamp({up}, min=0.0)", MORE, 1.0, "rise up airborne")


def _list_vectors(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Three numbers that are known by their name."""
    for name, dims in shapes.items():
        kind, of = split_words(name), _get_prefix(name)
        if dims == (4,) and not of and kind & {"quat", "quats", "rot"} and "up_vec" not in shapes:
            yield _make_upright(of, name, 0)
        if dims != (3,):
            continue
        if name.startswith("up_vec") and split_words(reading.task) & LYING:
            yield _make_quantity("belly_up", f"-{name}[:, 2]", NEAR_ONE, 1.0, "lying stable")
        elif name.startswith("up_vec"):
            yield _make_quantity("upright", f"{name}[:, 2]", NEAR_ONE, 1.0, "upright stable")
        elif name.startswith("heading_vec"):
            yield _make_quantity("heading", f"{name}[:, 0]", NEAR_ONE, 1.0, "heading forward straight")
        elif kind & {"angular", "angvel", "angvels"}:
            yield _make_quantity(f"{of}spin", f"torch.sum(torch.square({name}), dim=-1)", LESS, 5.0, "spin stable")
        elif kind & {"velocity", "linvel", "linvels"} and "local" not in kind:
            yield from _list_motions(of, name, 0, reading)
        elif name in _list_bodies(shapes) and (not of or split_words(reading.task) & LIFTING):
            yield _make_height(of, name, reading)


def _get_prefix(name: str) -> str:
    """The body that a vector belongs to, as a prefix; none for the robot itself."""
    left = [w for w in name.split("_") if w not in _GENERIC]
    return "_".join(left) + "_" if left else ""


_GENERIC = frozenset(
    {"velocity", "linvel", "linvels", "angvel", "angvels", "angular", "position", "positions", "pos", "world", "torso"}
    | {"root", "vec", "local", "location", "quat", "quats", "rot"}
)


def _list_bodies(shapes: Shapes) -> list[str]:
    """Inputs that say where a body is."""
    positions = [n for n, dims in shapes.items() if dims == (3,) and _is_place(n, shapes)]
    return [n for n in positions if not split_words(n) & {"prev", "last", "goal", "target", "destination"}]


def _is_place(name: str, shapes: Shapes) -> bool:
    """Whether three numbers are a place: by their name, or because there is a velocity to them."""
    return bool(split_words(name) & {"position", "positions", "pos", "location"}) or shapes.get(f"{name}_vel") == (3,)


def _list_places(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Places to reach: a point that the task text names, the present target, another body."""
    point = re.search(r"\(\s*(-?[\d.]+),\s*(-?[\d.]+),\s*(-?[\d.]+)\s*\)", reading.task)
    itself = next((name for name in _list_bodies(shapes) if not _get_prefix(name)), None)
    if point and itself:
        place = f"torch.tensor([{', '.join(str(float(c)) for c in point.groups())}], device={itself}.device)"
        yield _make_quantity("target_distance", f"torch.norm({itself} - {place}, dim=-1)", NEAR_ZERO, 1.0, "distance")
    if split_words(reading.task) & REACHING and shapes.get("targets") == (3,) and shapes.get("root_states") == (13,):
        yield from _list_targets(shapes)
    for first, second in combinations(_list_bodies(shapes), 2):
        if first.split("_")[0] != second.split("_")[0]:
            name = f"{_get_prefix(first)}{_get_prefix(second)}distance"
            yield _make_quantity(name, f"torch.norm({first} - {second}, dim=-1)", NEAR_ZERO, 0.3, "distance")
    if shapes.get("phase") == ():
        yield _make_quantity("phase_reached", "phase", MORE, 1.0, "phase progress")


def _list_targets(shapes: Shapes) -> Iterator[Quantity]:
    """Nearness to the present target, speed towards it, facing it: all on the ground."""
    away = "(targets[:, 0:2] - root_states[:, 0:2])"
    towards = f"torch.nn.functional.normalize({away}, dim=-1)"
    yield _make_quantity("target_distance", f"torch.norm({away}, dim=-1)", NEAR_ZERO, 2.0, "distance")
    speed = f"torch.sum(root_states[:, 7:9] * {towards}, dim=-1)"
    yield _make_quantity("approach_speed", speed, MORE, 2.0, "speed progress forward")
    if shapes.get("heading_vec") == (3,):
        facing = f"torch.sum(heading_vec[:, 0:2] * {towards}, dim=-1)"
        yield _make_quantity("heading", facing, NEAR_ONE, 1.0, "straight")


def _list_alignments(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Axes of a gripper and of what it grasps, each in its own frame, that should point the same way."""
    frames = [n for n, dims in shapes.items() if dims == (4,) and n.endswith("_grasp_rot")]
    axes = [n for n, dims in shapes.items() if dims == (3,) and n.endswith("_axis")]
    if len(frames) != 2:
        return
    held = frames[1].split("_")[0]
    theirs, ours = [n for n in axes if n.startswith(held)], [n for n in axes if not n.startswith(held)]
    for mine, other in zip(ours, theirs, strict=False):
        along = f"torch.sum(quat_rotate({frames[0]}, {mine}) * quat_rotate({frames[1]}, {other}), dim=-1)"
        yield _make_quantity(f"{mine.removesuffix('_axis')}_alignment", along, NEAR_ONE, 1.0, "alignment")


def _list_sides(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """right_X and left_X: both feet in the air, both knees bent, both sides alike."""
    pairs = {r: r.replace("right_", "left_", 1) for r in shapes if r.startswith("right_")}
    pairs = {right: left for right, left in pairs.items() if shapes[right] == shapes.get(left)}
    for right, left in pairs.items():
        if shapes[right] == (3,) and "force" in right:
            both = f"torch.norm({right}, dim=-1) + torch.norm({left}, dim=-1)"
            apart = f"torch.norm({right}, dim=-1) - torch.norm({left}, dim=-1)"
            yield _make_quantity("ground_force", both, LESS, 300.0, "airborne rise")
            yield _make_quantity("foot_imbalance", apart, NEAR_ZERO, 200.0, "symmetry")
    for limb, parts in (("leg", ("hip_y", "knee", "ankle_y")), ("arm", ("shoulder1", "shoulder2", "elbow"))):
        sides = [(f"right_{p}", f"left_{p}") for p in parts if pairs.get(f"right_{p}") and shapes[f"right_{p}"] == ()]
        if sides:
            apart = " + ".join(f"torch.abs({right} - {left})" for right, left in sides)
            yield _make_quantity(f"{limb}_difference", apart, LESS, 0.5 * len(sides), "symmetry")
    if shapes.get("right_knee") == () and "right_knee" in pairs:
        yield _make_quantity("knee_bend", "torch.abs(right_knee) + torch.abs(left_knee)", MORE, 1.5, "knee")


def _list_joints(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """Effort, joint speed, power and nearness to joint limits."""
    wide = {name: dims[0] for name, dims in shapes.items() if dims is not None and len(dims) == 1}
    mean_square = "torch.mean(torch.square({0}), dim=-1)".format
    if "actions" in wide:
        yield _make_quantity("effort", mean_square("actions"), LESS, 0.5, "effort smooth")
    speeds = next(
        (n for n in ("dof_vel", "dof_velocities", "shadow_hand_dof_vel", "franka_dof_vel") if n in wide), None
    )
    if speeds and wide[speeds] > 2:
        yield _make_quantity("joint_speed", mean_square(speeds), LESS, 20.0, "joints smooth")
        if wide.get("actions") == wide[speeds]:
            power = f"torch.mean(torch.abs(actions * {speeds}), dim=-1)"
            yield _make_quantity("power", power, LESS, 2.0, "effort joints")
    if "dof_pos" in wide and {"dof_limits_lower", "dof_limits_upper"} <= set(shapes):
        place = "(2.0 * dof_pos - dof_limits_upper - dof_limits_lower) / (dof_limits_upper - dof_limits_lower)"
        near = f"torch.mean((torch.abs({place}) > 0.98).float(), dim=-1)"
        yield _make_quantity("joint_limits", near, LESS, 0.3, "joints")


_GOALS = ("goal_pos", "target_pos", "goal", "package_destination")


def _list_distances(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """How far something is from where its goal is."""
    for name in shapes:
        goal = next((g for g in _GOALS if shapes.get(g) == (3,)), None)
        if goal and name != goal and shapes[name] == (3,) and _is_place(name, shapes):
            expression = f"torch.norm({name} - {goal}, dim=-1)"
            yield _make_quantity(f"{_get_prefix(name)}distance", expression, LESS, 0.2, "distance target")
        other = name.replace("object_rot", "goal_rot")
        if other != name and shapes.get(other) == shapes[name] == (4,):
            cosine = f"torch.abs(torch.sum({name} * {other}, dim=-1))"  # of half the angle between them
            angle = f"2.0 * torch.acos(torch.clamp({cosine}, max=1.0))"
            yield _make_quantity("rotation_error", angle, NEAR_ZERO, 1.0, "rotation distance target")
            yield _make_quantity("at_goal", f"({cosine} > 0.9988).float()", MORE, 0.1, "")  # within 0.1 rad
        if (shapes[name] or ())[1:] == (3,) and "pos" in split_words(name) and shapes.get("object_pos") == (3,):
            apart = f"torch.norm({name} - object_pos.unsqueeze(1), dim=-1)"
            yield _make_quantity(f"{_get_prefix(name)}distance", f"torch.mean({apart}, dim=-1)", LESS, 0.1, "")


def _list_living(shapes: Shapes, reading: Reading) -> Iterator[Quantity]:
    """A constant for every step that the episode goes on."""
    name = next((name for name, dims in shapes.items() if dims in ((), (3,), (13,))), None)
    if name is not None:
        column = "" if shapes[name] == () else "[:, 0]"
        yield Quantity("alive", f"torch.ones_like({name}{column})", STAYING, 1.0, frozenset({"staying"}))
