"""The double's gymapi: the types and calls that the bridge's host uses, with their documented arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

UP_AXIS_Z, SIM_PHYSX, DOF_MODE_EFFORT = 1, 1, 3
FLOATS = ("lower", "upper", "velocity", "effort", "stiffness", "damping", "friction", "armature")
DOF_PROPERTIES = np.dtype([("hasLimits", "?"), ("driveMode", "i4"), *((name, "f4") for name in FLOATS)])


@dataclass
class Vec3:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass
class Quat:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0


@dataclass
class Transform:
    p: Vec3 = field(default_factory=Vec3)
    r: Quat = field(default_factory=Quat)


@dataclass(slots=True)
class PhysXParams:
    use_gpu: bool = False
    num_threads: int = 4
    solver_type: int = 1
    num_position_iterations: int = 4
    num_velocity_iterations: int = 1


@dataclass(slots=True)
class SimParams:
    dt: float = 1 / 60
    substeps: int = 2
    up_axis: int = 0
    gravity: Vec3 = field(default_factory=Vec3)
    use_gpu_pipeline: bool = False
    physx: PhysXParams = field(default_factory=PhysXParams)


@dataclass(slots=True)
class PlaneParams:
    normal: Vec3 = field(default_factory=Vec3)
    static_friction: float = 1.0
    dynamic_friction: float = 1.0


@dataclass(slots=True)
class AssetOptions:
    default_dof_drive_mode: int = 0
    fix_base_link: bool = False


@dataclass(slots=True)
class ForceSensorProperties:
    enable_forward_dynamics_forces: bool = True
    enable_constraint_solver_forces: bool = True
    use_world_frame: bool = False


def acquire_gym() -> Gym:
    return Gym()


class Asset:
    """A model, seen as PhysX would: hinges and slides are dofs, the rest of the file's bodies are one robot's."""

    def __init__(self, path: Path, options: AssetOptions) -> None:
        spec = mujoco.MjSpec.from_file(str(path))
        for body in [body for body in spec.bodies if body.mocap]:
            spec.delete(body)
        self.model = spec.compile()
        joints = range(self.model.njnt)
        self.dofs = [j for j in joints if self.model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
        self.sensors: list[int] = []


class Simulation:
    """One world's data per actor; what a tensor holds becomes the world's only when it is written."""

    def __init__(self, parameters: SimParams) -> None:
        self.parameters = parameters
        self.asset: Any = None
        self.worlds: list[mujoco.MjData] = []
        self.tensors: dict[str, Any] = {}
        self.prepared = False
        self.pending: dict[str, tuple[Any, list[int]]] = {}


class Gym:
    """Calls as documented, positional as there."""

    def create_sim(self, compute: int, graphics: int, kind: int, parameters: SimParams) -> Simulation:
        assert (compute, graphics, kind) == (0, -1, SIM_PHYSX) and parameters.up_axis == UP_AXIS_Z
        return Simulation(parameters)

    def add_ground(self, sim: Simulation, plane: PlaneParams) -> None:
        assert plane.normal == Vec3(0.0, 0.0, 1.0)  # the asset's own file has it here

    def load_asset(self, sim: Simulation, root: str, file: str, options: AssetOptions) -> Asset:
        sim.asset = Asset(Path(root, file), options)
        return sim.asset

    def get_asset_dof_names(self, asset: Asset) -> list[str]:
        return [asset.model.joint(j).name for j in asset.dofs]

    def get_asset_rigid_body_names(self, asset: Asset) -> list[str]:
        return [asset.model.body(b).name for b in range(1, asset.model.nbody)]

    def get_asset_dof_properties(self, asset: Asset) -> np.ndarray:
        return np.ones(len(asset.dofs), DOF_PROPERTIES)

    def create_asset_force_sensor(
        self, asset: Asset, body: int, pose: Transform, properties: ForceSensorProperties
    ) -> int:
        assert properties.use_world_frame and pose == Transform()
        asset.sensors.append(body + 1)
        return len(asset.sensors) - 1

    def create_env(self, sim: Simulation, lower: Vec3, upper: Vec3, per_row: int) -> int:
        sim.worlds.append(mujoco.MjData(sim.asset.model))
        return len(sim.worlds) - 1

    def create_actor(
        self, env: int, asset: Asset, pose: Transform, name: str, group: int, filter_bits: int, segmentation: int
    ) -> int:
        assert group == env
        return 0

    def set_actor_dof_properties(self, env: int, actor: int, properties: np.ndarray) -> bool:
        assert properties.dtype == DOF_PROPERTIES and (properties["driveMode"] == DOF_MODE_EFFORT).all()
        self._properties = properties
        return True

    def prepare_sim(self, sim: Simulation) -> bool:
        from isaacgym import physics

        physics.prepare(sim, self._properties)
        return True

    def acquire_actor_root_state_tensor(self, sim: Simulation) -> Any:
        return self._acquired(sim, "root")

    def acquire_dof_state_tensor(self, sim: Simulation) -> Any:
        return self._acquired(sim, "dofs")

    def acquire_rigid_body_state_tensor(self, sim: Simulation) -> Any:
        return self._acquired(sim, "bodies")

    def acquire_net_contact_force_tensor(self, sim: Simulation) -> Any:
        return self._acquired(sim, "contacts")

    def acquire_force_sensor_tensor(self, sim: Simulation) -> Any:
        assert sim.asset.sensors, "the real one returns nothing"
        return self._acquired(sim, "sensors")

    def refresh_actor_root_state_tensor(self, sim: Simulation) -> bool:
        return self._refreshed(sim, "root")

    def refresh_dof_state_tensor(self, sim: Simulation) -> bool:
        return self._refreshed(sim, "dofs")

    def refresh_rigid_body_state_tensor(self, sim: Simulation) -> bool:
        return self._refreshed(sim, "bodies")

    def refresh_net_contact_force_tensor(self, sim: Simulation) -> bool:
        return self._refreshed(sim, "contacts")

    def refresh_force_sensor_tensor(self, sim: Simulation) -> bool:
        return self._refreshed(sim, "sensors")

    def set_dof_actuation_force_tensor(self, sim: Simulation, forces: Any) -> bool:
        sim.pending["effort"] = (self._floats(forces).clone(), [])
        return True

    def set_actor_root_state_tensor_indexed(self, sim: Simulation, states: Any, actors: Any, count: int) -> bool:
        return self._write(sim, "root", states, actors, count)

    def set_dof_state_tensor_indexed(self, sim: Simulation, states: Any, actors: Any, count: int) -> bool:
        return self._write(sim, "dofs", states, actors, count)

    def simulate(self, sim: Simulation) -> None:
        from isaacgym import physics

        physics.simulate(sim)

    def fetch_results(self, sim: Simulation, wait: bool) -> None:
        assert wait

    def _acquired(self, sim: Simulation, name: str) -> Any:
        from isaacgym.gymtorch import Descriptor

        assert sim.prepared, "tensors exist once the simulation is prepared"
        return Descriptor(sim.tensors[name])

    def _refreshed(self, sim: Simulation, name: str) -> bool:
        from isaacgym import physics

        sim.tensors[name].copy_(physics.READ[name](sim))
        return True

    def _write(self, sim: Simulation, name: str, states: Any, actors: Any, count: int) -> bool:
        import torch

        assert actors.tensor.dtype == torch.int32 and len(actors.tensor) == count
        rows = self._floats(states).view(len(sim.worlds), -1)
        sim.pending[name] = (rows.clone(), actors.tensor.tolist())  # the last call is the one that counts
        return True

    @staticmethod
    def _floats(descriptor: Any) -> Any:
        import torch

        assert descriptor.tensor.dtype == torch.float32
        return descriptor.tensor
