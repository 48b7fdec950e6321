"""Makes the robots' meshes for films from public packages, in an environment of its own:

    python generate.py PACKAGES [ROBOT...]

PACKAGES is a folder into which the wheels named in README.md beside this file were unpacked. Needs trimesh, pycollada,
scipy and fast-simplification, which Prefine itself does not. The parts of a link that share a colour become one mesh in
the link's frame, as a .msh file of MuJoCo: vertices and faces, without normals and textures.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

import fast_simplification
import numpy as np
import trimesh

HERE = Path(__file__).parent
Parts = dict[str, list[trimesh.Trimesh]]
"""The meshes of each part, by its name `<link>_<colour>`."""


def load(file: Path, pose: np.ndarray | None = None) -> trimesh.Trimesh:
    """A file's mesh, its vertices moved by `pose` (4, 4), in metres."""
    mesh = trimesh.load(file, force="mesh")
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    return mesh.apply_transform(np.eye(4) if pose is None else pose)


def read_panda(packages: Path) -> Parts:
    """Links of the arm, hand and finger, each in white and dark."""
    (model,) = packages.rglob("mujoco_menagerie/franka_emika_panda/panda.xml")
    parts = defaultdict(list)
    for body in ElementTree.parse(model).iter("body"):
        link = body.get("name", "").replace("left_", "")
        for geom in body.findall("geom[@class='visual']"):
            if link != "right_finger":
                colour = "dark" if geom.get("material") == "black" else "white"
                parts[f"{link}_{colour}"].append(load(model.parent / "assets" / f"{geom.get('mesh')}.obj"))
    return parts


RED = {"top_shell", "bottom_shell"}
COVERED = {"imu_link", "battery"}


def read_anymal(packages: Path) -> Parts:
    """Base (dark, red) and each leg's hip, thigh (dark, cover) and shank, in their frames at zero angles."""
    (file,) = packages.rglob("anymal_c_simple_description/urdf/anymal.urdf")
    root = ElementTree.parse(file).getroot()
    links, parts = place_links(root), defaultdict(list)
    for link in root.iter("link"):
        name = link.get("name", "")
        for visual in link.findall("visual") if name not in COVERED else []:
            owner, pose = links[name]
            beside = trimesh.transformations.translation_matrix(-links[owner][1][:3, 3])
            mesh = file.parent.parent / "meshes" / Path(get(visual, "geometry/mesh", "filename")).name
            colour = "red" if name in RED else "cover" if name.endswith("thigh_fixed") else "dark"
            parts[f"{owner}_{colour}"].append(load(mesh, beside @ pose @ read_origin(visual)))
    return parts


def place_links(root: ElementTree.Element) -> dict[str, tuple[str, np.ndarray]]:
    """Of each link of a URDF: the link with which it moves, and its pose (4, 4) in the base at zero angles."""
    links = {"base": ("base", np.eye(4))}
    joints = list(root.iter("joint"))
    while joints:
        joint = joints.pop(0)
        parent, child = get(joint, "parent", "link"), get(joint, "child", "link")
        if parent not in links:
            joints.append(joint)
            continue
        owner, pose = links[parent]
        links[child] = (owner if joint.get("type") == "fixed" else child, pose @ read_origin(joint))
    return links


def get(element: ElementTree.Element, path: str, name: str, default: str = "") -> str:
    """An attribute of the element at this path; the default where there is none."""
    found = element.find(path)
    return default if found is None else found.get(name, default)


def read_origin(element: ElementTree.Element) -> np.ndarray:
    """The pose (4, 4) that a joint or a visual of a URDF has in its parent."""
    angles = [float(angle) for angle in get(element, "origin", "rpy", "0 0 0").split()]
    matrix: np.ndarray = trimesh.transformations.euler_matrix(*angles, axes="sxyz")
    matrix[:3, 3] = [float(number) for number in get(element, "origin", "xyz", "0 0 0").split()]
    return matrix


ALLEGRO = {
    "palm_dark": "base_link",
    "base_dark": "link_0.0",
    "proximal_dark": "link_1.0",
    "medial_dark": "link_2.0",
    "distal_dark": "link_3.0",
    "thumb_base_dark": "link_12.0_right",
    "thumb_proximal_dark": "link_13.0",
    "thumb_medial_dark": "link_14.0",
    "thumb_distal_dark": "link_15.0",
    "tip_white": "link_tip",
}


def read_allegro(packages: Path) -> Parts:
    """Palm, the links of a finger, those of the thumb (dark), and the tip that all four share (white)."""
    (folder,) = packages.rglob("robots/allegro/meshes/visual")
    return {part: [load(folder / f"{file}.obj")] for part, file in ALLEGRO.items()}


def read_h1(packages: Path) -> Parts:
    """Links of the body (dark), and the emblem on its chest (white)."""
    (folder,) = packages.rglob("mujoco_menagerie/unitree_h1/assets")
    names = {file: file.stem.removesuffix("_link") for file in sorted(folder.glob("*.stl"))}
    return {f"{name}_{'white' if name == 'logo' else 'dark'}": [load(file)] for file, name in names.items()}


ROBOTS = {
    "panda": (read_panda, 12000),
    "anymal": (read_anymal, 10000),
    "allegro": (read_allegro, 8000),
    "h1": (read_h1, 12000),
}
"""Of each robot, what reads its package, and about how many faces all its parts have together."""


def simplify(mesh: trimesh.Trimesh, faces: int) -> trimesh.Trimesh:
    """The mesh with at most this many faces."""
    if len(mesh.faces) <= faces:
        return mesh
    reduction = 1 - faces / len(mesh.faces)
    points, triangles = fast_simplification.simplify(mesh.vertices.astype(np.float32), mesh.faces, reduction)
    return trimesh.Trimesh(points, triangles)


def write(mesh: trimesh.Trimesh, path: Path) -> None:
    """MuJoCo's .msh: numbers of vertices, normals, texture coordinates, faces; vertices (n, 3); faces (m, 3)."""
    counts = np.array([len(mesh.vertices), 0, 0, len(mesh.faces)], dtype="<i4")
    path.write_bytes(counts.tobytes() + mesh.vertices.astype("<f4").tobytes() + mesh.faces.astype("<i4").tobytes())


def main() -> None:
    """Write these robots' meshes, or every robot's, into their folders here."""
    packages = Path(sys.argv[1])
    for robot in sys.argv[2:] or ROBOTS:
        read, budget = ROBOTS[robot]
        meshes = {name: trimesh.util.concatenate(parts) for name, parts in read(packages).items()}
        weights = {name: np.sqrt(mesh.area) for name, mesh in meshes.items()}
        total, kept = sum(weights.values()), 0
        (HERE / robot).mkdir(exist_ok=True)
        for name, mesh in meshes.items():
            small = simplify(mesh, round(budget * weights[name] / total))
            write(small, HERE / robot / f"{name}.msh")
            kept += len(small.faces)
        print(f"{robot}: {sum(len(mesh.faces) for mesh in meshes.values())} faces, kept {kept} in {len(meshes)} parts")


if __name__ == "__main__":
    main()
