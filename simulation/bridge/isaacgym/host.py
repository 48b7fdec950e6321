"""NVIDIA IsaacGym (Preview 4) behind the bridge, in its own Python 3.8. NOT YET RUN with the package.

Written against its public interface (gymapi, gymtorch), which the tests mimic: one actor per world, loaded from `asset`
(MJCF or URDF), which must have the joints and bodies of the task's model under the same names. Positions and velocities
are handed over in MuJoCo's conventions: quaternions wxyz, a free body's angular velocity in its own frame. Motors and
springs are efforts computed here in every physics step from MuJoCo's numbers, damping and armature are given to PhysX,
so that a controller means the same on both engines.

Differences that remain: PhysX instead of MuJoCo's solver, contact sensors read all that touches a body, positions and
forces of bodies become current in the step after a reset, and a saved state holds positions and velocities only.
"""

from __future__ import annotations

import os
from typing import Any

from isaacgym import gymapi, gymtorch  # before torch, or it refuses to load

import numpy as np  # isort: skip
import torch  # isort: skip

FIELDS = ("qpos", "qvel", "qfrc_actuator", "actuator_force", "site_xpos", "sensordata")
ENVS_PER_ROW = 64
SPACING = 4.0
MAX_VALUE = 1e10


def prepare(described: dict[str, Any]) -> dict[str, Any]:
    """The description unchanged. Raises ValueError, saying why, for a model that one actor per world cannot be."""
    if not described.get("asset"):
        raise ValueError("IsaacGym needs an asset file (MJCF or URDF) of the robot")
    if described["trees"] != 1 or any(joint["kind"] == "ball" for joint in described["joints"]):
        raise ValueError("IsaacGym hosts models of one robot with hinges and slides; this one has more")
    if any(actuator["joint"] is None for actuator in described["actuators"]):
        raise ValueError("IsaacGym hosts motors on joints only; this model has others")
    return described


class Host:
    """One simulation of `worlds` actors (see worker)."""

    engine = "isaacgym"

    def __init__(
        self,
        model: dict[str, Any],
        worlds: int,
        substeps: int,
        fields: dict[str, list[int]],
        threads: int,
        device: str,
    ) -> None:
        unknown = sorted(set(fields) - set(FIELDS))
        if unknown:
            raise ValueError(f"IsaacGym cannot give {', '.join(unknown)}; it gives {', '.join(FIELDS)}")
        if "sensordata" in fields and model["other_sensors"]:
            raise ValueError(f"IsaacGym has no sensors like {', '.join(model['sensors_left'])}")
        self._model, self._worlds, self._substeps, self._shapes = model, worlds, substeps, fields
        self._gpu = device.startswith("cuda")
        self._device = device if self._gpu else "cpu"
        self._gym = gymapi.acquire_gym()
        self._sim = self._create_sim(threads)
        self._create_worlds()
        self._gym.prepare_sim(self._sim)
        self._acquire()

    def step(self, ctrl: np.ndarray) -> np.ndarray:
        """One control step; ids of the worlds whose state is not finite."""
        controls = torch.from_numpy(ctrl).to(self._device)
        for _ in range(self._substeps):
            self._push(controls)
            self._gym.set_dof_actuation_force_tensor(self._sim, gymtorch.unwrap_tensor(self._effort))
            self._gym.simulate(self._sim)
            if not self._gpu:
                self._gym.fetch_results(self._sim, True)
            self._placed[:] = False
            self._refresh()
        state = torch.cat((self._root, self._dofs.flatten(1)), dim=1)
        failed = ~(state.abs() < MAX_VALUE).all(1)
        found: np.ndarray = torch.nonzero(failed).squeeze(1).cpu().numpy()
        return found

    def place(self, ids: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put worlds into states of MuJoCo's conventions. Body poses and forces become current in the next step."""
        rows = torch.from_numpy(ids.copy()).to(self._device)
        positions, velocities = (torch.from_numpy(values).to(self._device) for values in (qpos, qvel))
        self._dofs[rows, :, 0] = positions[:, self._qpos_of_dof]
        self._dofs[rows, :, 1] = velocities[:, self._qvel_of_dof]
        if self._free is not None:
            p, v = self._free
            quaternion = torch.roll(positions[:, p + 3 : p + 7], -1, dims=1)
            spin = _rotate(quaternion, velocities[:, v + 3 : v + 6])
            parts = (positions[:, p : p + 3], quaternion, velocities[:, v : v + 3], spin)
            self._root[rows] = torch.cat(parts, dim=1)
        self._placed[rows] = True
        self._write()

    def fields(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        """Copies of the fields that were asked for, in MuJoCo's shapes."""
        rows = slice(None) if ids is None else torch.from_numpy(ids.copy()).to(self._device)
        return {name: getattr(self, "_" + name)()[rows].cpu().numpy() for name in self._shapes}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos."""
        values: np.ndarray = self._qpos()[world].double().cpu().numpy()
        return values

    def state(self) -> np.ndarray:
        """qpos and qvel (worlds, nq + nv): PhysX keeps more, but does not hand it out."""  # noqa: D403
        values: np.ndarray = torch.cat((self._qpos(), self._qvel()), dim=1).double().cpu().numpy()
        return values

    def load(self, state: np.ndarray) -> None:
        """Continue from a state."""
        values = state.astype(np.float32)
        self.place(np.arange(self._worlds), values[:, : self._model["nq"]], values[:, self._model["nq"] :])

    def _create_sim(self, threads: int) -> Any:
        parameters = gymapi.SimParams()
        parameters.dt = self._model["timestep"]
        parameters.substeps = 1
        parameters.up_axis = gymapi.UP_AXIS_Z
        parameters.gravity = gymapi.Vec3(*self._model["gravity"])
        parameters.use_gpu_pipeline = self._gpu
        parameters.physx.use_gpu = self._gpu
        parameters.physx.num_threads = threads
        parameters.physx.solver_type = 1  # temporal Gauss-Seidel
        parameters.physx.num_position_iterations = 4
        parameters.physx.num_velocity_iterations = 1
        index = int(self._device.partition(":")[2] or 0) if self._gpu else 0
        simulation = self._gym.create_sim(index, -1, gymapi.SIM_PHYSX, parameters)
        if simulation is None:
            raise RuntimeError("IsaacGym could not create a simulation; its own message is in the log")
        ground = gymapi.PlaneParams()
        ground.normal = gymapi.Vec3(0.0, 0.0, 1.0)
        self._gym.add_ground(simulation, ground)
        return simulation

    def _create_worlds(self) -> None:
        options = gymapi.AssetOptions()
        options.default_dof_drive_mode = gymapi.DOF_MODE_EFFORT
        options.fix_base_link = not any(joint["kind"] == "free" for joint in self._model["joints"])
        folder, file = os.path.split(self._model["asset"])
        asset = self._gym.load_asset(self._sim, folder, file, options)
        if asset is None:
            raise ValueError(f"IsaacGym cannot load {self._model['asset']}; its own message is in the log")
        self._map_joints(self._gym.get_asset_dof_names(asset))
        self._bodies = {name: index for index, name in enumerate(self._gym.get_asset_rigid_body_names(asset))}
        self._check_bodies()
        self._add_sensors(asset)
        properties = self._dof_properties(asset)
        filter_bits = 0 if self._model["self_collision"] else 1  # shapes with a bit in common do not collide
        start = gymapi.Transform()
        start.p = gymapi.Vec3(*(self._model["qpos0"][:3] if self._free is not None else (0.0, 0.0, 0.0)))
        lower, upper = gymapi.Vec3(-SPACING, -SPACING, 0.0), gymapi.Vec3(SPACING, SPACING, SPACING)
        for world in range(self._worlds):
            env = self._gym.create_env(self._sim, lower, upper, ENVS_PER_ROW)
            actor = self._gym.create_actor(env, asset, start, "robot", world, filter_bits, 0)
            self._gym.set_actor_dof_properties(env, actor, properties)

    def _map_joints(self, names: list[str]) -> None:
        """Where the asset's dofs are in MuJoCo's qpos and qvel, and which of them each motor drives."""
        joints = {joint["name"]: joint for joint in self._model["joints"] if joint["kind"] != "free"}
        if set(names) != set(joints):
            raise ValueError(f"the asset's joints {sorted(names)} are not the model's {sorted(joints)}")
        self._qpos_of_dof = [joints[name]["qpos"] for name in names]
        self._qvel_of_dof = [joints[name]["qvel"] for name in names]
        self._driven = [names.index(actuator["joint"]) for actuator in self._model["actuators"]]
        free = [joint for joint in self._model["joints"] if joint["kind"] == "free"]
        self._free = (free[0]["qpos"], free[0]["qvel"]) if free else None
        motors = self._model["actuators"]
        self._gear, self._gain = (self._numbers([motor[name] for motor in motors]) for name in ("gear", "gain"))
        self._bias = self._numbers([motor["bias"] for motor in motors]).view(-1, 3)
        self._control_range, self._force_range = (
            self._numbers([motor[name] for motor in motors]).view(-1, 2).unbind(1)
            for name in ("control_range", "force_range")
        )
        self._stiffness, self._rest = (
            self._numbers([joints[name][key] for name in names]) for key in ("stiffness", "rest")
        )
        self._dof_joints = [joints[name] for name in names]

    def _numbers(self, values: list[Any]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self._device)

    def _check_bodies(self) -> None:
        wanted = [site["body"] for site in self._model["sites"]] if "site_xpos" in self._shapes else []
        wanted += [body for contact in self._model["contacts"] for body in contact["bodies"]]
        missing = sorted(set(wanted) - set(self._bodies))
        if missing:
            raise ValueError(f"the asset has no body {', '.join(missing)}; it has {', '.join(self._bodies)}")

    def _dof_properties(self, asset: Any) -> Any:
        """The asset's properties of each dof: driven by the efforts computed here, damped implicitly by PhysX."""
        properties = self._gym.get_asset_dof_properties(asset)
        properties["driveMode"].fill(int(gymapi.DOF_MODE_EFFORT))
        properties["stiffness"].fill(0.0)
        properties["effort"].fill(MAX_VALUE)
        properties["damping"][:] = [joint["damping"] for joint in self._dof_joints]
        properties["armature"][:] = [joint["armature"] for joint in self._dof_joints]
        return properties

    def _add_sensors(self, asset: Any) -> None:
        properties = gymapi.ForceSensorProperties()
        properties.enable_forward_dynamics_forces = False  # contacts and limits only
        properties.enable_constraint_solver_forces = True
        properties.use_world_frame = True
        twisted = [contact["bodies"] for contact in self._model["contacts"] if "torque" in contact["data"]]
        self._sensed = sorted({body for bodies in twisted for body in bodies})
        for body in self._sensed:
            self._gym.create_asset_force_sensor(asset, self._bodies[body], gymapi.Transform(), properties)

    def _acquire(self) -> None:
        gym, sim, worlds = self._gym, self._sim, self._worlds
        self._root = gymtorch.wrap_tensor(gym.acquire_actor_root_state_tensor(sim)).view(worlds, 13)
        self._dofs = gymtorch.wrap_tensor(gym.acquire_dof_state_tensor(sim)).view(worlds, -1, 2)
        self._rigid = gymtorch.wrap_tensor(gym.acquire_rigid_body_state_tensor(sim)).view(worlds, -1, 13)
        self._contacts = gymtorch.wrap_tensor(gym.acquire_net_contact_force_tensor(sim)).view(worlds, -1, 3)
        if self._sensed:
            self._sensors = gymtorch.wrap_tensor(gym.acquire_force_sensor_tensor(sim)).view(worlds, -1, 6)
        self._effort = torch.zeros(worlds, self._dofs.shape[1], device=self._device)
        self._drive = torch.zeros(worlds, len(self._driven), device=self._device)
        self._placed = torch.zeros(worlds, dtype=torch.bool, device=self._device)
        self._refresh()

    def _refresh(self) -> None:
        self._gym.refresh_actor_root_state_tensor(self._sim)
        self._gym.refresh_dof_state_tensor(self._sim)
        self._gym.refresh_rigid_body_state_tensor(self._sim)
        self._gym.refresh_net_contact_force_tensor(self._sim)
        if self._sensed:
            self._gym.refresh_force_sensor_tensor(self._sim)

    def _write(self) -> None:
        """Pass all worlds that were placed since the last step to the simulation, which obeys only one call."""
        actors = torch.nonzero(self._placed).squeeze(1).to(torch.int32)
        for tensor, setter in (
            (self._root, self._gym.set_actor_root_state_tensor_indexed),
            (self._dofs, self._gym.set_dof_state_tensor_indexed),
        ):
            setter(self._sim, gymtorch.unwrap_tensor(tensor), gymtorch.unwrap_tensor(actors), len(actors))
        self._written = actors  # which the simulation may read as late as in its next step

    def _push(self, ctrl: torch.Tensor) -> None:
        """Efforts of springs and of MuJoCo's affine motors: gear (gain ctrl + bias . (1, length, velocity))."""
        dofs = self._dofs[:, self._driven] * self._gear.unsqueeze(1)
        control = torch.minimum(torch.maximum(ctrl, self._control_range[0]), self._control_range[1])
        force = self._gain * control + self._bias[:, 0] + (self._bias[:, 1:] * dofs).sum(-1)
        self._drive = torch.minimum(torch.maximum(force, self._force_range[0]), self._force_range[1])
        self._effort[:] = self._stiffness * (self._rest - self._dofs[..., 0])
        self._effort[:, self._driven] += self._gear * self._drive

    def _qpos(self) -> torch.Tensor:
        values = torch.zeros(self._worlds, self._model["nq"], device=self._device)
        values[:, self._qpos_of_dof] = self._dofs[..., 0]
        if self._free is not None:
            p = self._free[0]
            values[:, p : p + 3] = self._root[:, :3]
            values[:, p + 3 : p + 7] = torch.roll(self._root[:, 3:7], 1, dims=1)
        return values

    def _qvel(self) -> torch.Tensor:
        values = torch.zeros(self._worlds, self._model["nv"], device=self._device)
        values[:, self._qvel_of_dof] = self._dofs[..., 1]
        if self._free is not None:
            v = self._free[1]
            values[:, v : v + 3] = self._root[:, 7:10]
            values[:, v + 3 : v + 6] = _rotate(_conjugate(self._root[:, 3:7]), self._root[:, 10:13])
        return values

    def _qfrc_actuator(self) -> torch.Tensor:
        values = torch.zeros(self._worlds, self._model["nv"], device=self._device)
        values[:, [self._qvel_of_dof[dof] for dof in self._driven]] = self._gear * self._drive
        return values

    def _actuator_force(self) -> torch.Tensor:
        return self._drive

    def _site_xpos(self) -> torch.Tensor:
        places = []
        for site in self._model["sites"]:
            body = self._rigid[:, self._bodies[site["body"]]]
            local = torch.tensor(site["position"], device=self._device).expand(self._worlds, 3)
            places.append(body[:, :3] + _rotate(body[:, 3:7], local))
        return torch.stack(places, dim=1)

    def _sensordata(self) -> torch.Tensor:
        """Net force on each contact sensor's bodies, its torque about the origin of the first, and where that is."""
        parts = []
        for contact in self._model["contacts"]:
            bodies = [self._bodies[body] for body in contact["bodies"]]
            read = {"pos": self._rigid[:, bodies[0], :3]}
            if "torque" in contact["data"]:
                wrenches = self._sensors[:, [self._sensed.index(body) for body in contact["bodies"]]]
                arms = self._rigid[:, bodies, :3] - read["pos"].unsqueeze(1)
                read["force"] = wrenches[..., :3].sum(1)
                read["torque"] = (wrenches[..., 3:] + torch.cross(arms, wrenches[..., :3], dim=2)).sum(1)
            else:
                read["force"] = self._contacts[:, bodies].sum(1)
            parts += [read[name] for name in contact["data"]]
        return torch.cat(parts, dim=1)


def _conjugate(quaternion: torch.Tensor) -> torch.Tensor:
    return torch.cat((-quaternion[:, :3], quaternion[:, 3:]), dim=1)


def _rotate(quaternion: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Vectors (n, 3) rotated by quaternions xyzw (n, 4)."""
    axis, scalar = quaternion[:, :3], quaternion[:, 3:]
    twice = 2.0 * torch.cross(axis, vector, dim=1)
    return vector + scalar * twice + torch.cross(axis, twice, dim=1)
