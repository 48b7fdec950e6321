import json
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from simulation import film
from simulation.mujoco_models import VISUAL_GROUP, build_visual_model
from simulation.renderer import DIP_BRIGHTNESS, HEIGHT, WIDTH, RolloutRenderer, compute_brightness, smooth
from simulation.rollout import Rollout, read_rollout, write_rollout
from tests import short_training

pytestmark = pytest.mark.slow

STEPS = 600
CONTROL_DT = 1 / 60


def cartpole(path: Path, swing: float, restart_at: int = 0) -> Path:
    """A cart that goes to and fro under a swinging pole."""
    t = np.arange(STEPS) * CONTROL_DT
    restart = np.zeros(STEPS, dtype=bool)
    restart[restart_at] = True
    write_rollout(path, "Cartpole", np.stack([np.sin(t), swing * np.cos(3 * t)], axis=1), CONTROL_DT, restart)
    return path


def standing(task: str, steps: int, speed: float) -> np.ndarray:
    """The robot in its rest pose, carried ahead at this speed."""
    qpos = np.tile(build_visual_model(task).qpos0, (steps, 1))
    qpos[:, 0] += speed * CONTROL_DT * np.arange(steps)
    return qpos


@pytest.fixture(scope="module")
def filmed(tmp_path_factory) -> tuple[Path, list[dict], int]:
    """One run over good and bad rollouts, with short clips: its folder, the lines it printed, its exit status."""
    folder = tmp_path_factory.mktemp("clips")
    cartpole(folder / "calm.npz", 0.05)
    cartpole(folder / "wild.npz", 1.2, restart_at=45)
    (folder / "torn.npz").write_bytes((folder / "calm.npz").read_bytes()[:900])
    (folder / "text.npz").write_text("not a rollout")
    write_rollout(folder / "wrong.npz", "Cartpole", np.zeros((STEPS, 5)), CONTROL_DT, np.zeros(STEPS))
    write_rollout(folder / "short.npz", "Cartpole", np.zeros((60, 2)), CONTROL_DT, np.zeros(60))
    write_rollout(folder / "unknown.npz", "Snowman", np.zeros((STEPS, 2)), CONTROL_DT, np.zeros(STEPS))
    (folder / "kept.mp4").write_bytes(b"an older clip")
    names = ["calm", "torn", "text", "wrong", "short", "unknown", "missing", "wild"]
    pairs = [(f"{name}.npz", f"out/{name}.mp4") for name in names] + [("torn.npz", "kept.mp4"), ("calm.npz", "b.mp4")]
    python = short_training.python(folder / "python")
    command = [python, "-m", "simulation.film", *(str(folder / path) for pair in pairs for path in pair)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return folder, [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_good_clips_are_made_beside_bad_rollouts_and_the_status_says_that_some_failed(filmed):
    folder, lines, status = filmed
    assert status == 1
    assert [Path(line["clip"]).stem for line in lines if line["ok"]] == ["calm", "wild", "b"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["calm.jpg", "calm.mp4", "wild.jpg", "wild.mp4"]
    assert all(line["seconds"] > 0 and not line["error"] for line in lines if line["ok"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torn", "torn.npz is not a rollout file"),
        ("text", "text.npz is not a rollout file"),
        ("wrong", "the rollout has 5 positions per state, Cartpole has 2"),
        ("short", "the rollout lasts 1.00 s, the clip 1.50 s"),
        ("unknown", "unknown task 'Snowman'; known: "),
        ("missing", "there is no rollout file"),
    ],
)
def test_a_bad_rollout_is_refused_with_its_reason(filmed, name, said):
    line = next(line for line in filmed[1] if Path(line["clip"]).stem == name)
    assert not line["ok"]
    assert said in line["error"]


def test_a_failure_leaves_the_older_clip(filmed):
    assert (filmed[0] / "kept.mp4").read_bytes() == b"an older clip"


@pytest.mark.parametrize("name", ["calm", "wild"])
def test_every_clip_has_the_same_size_rate_codec_and_length(filmed, name):
    path = filmed[0] / "out" / f"{name}.mp4"
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == 30 * short_training.SECONDS
    probe = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)], capture_output=True, text=True).stderr
    assert "Duration: 00:00:01.50, start: 0.000000" in probe
    video = [line for line in probe.splitlines() if "Stream #" in line]
    assert len(video) == 1, "a single stream, without sound"
    assert re.search(rf"h264 \(High\).*yuv420p\(tv, bt709.*{WIDTH}x{HEIGHT}.* 30 fps", video[0])


def boxes(data: bytes) -> list[tuple[str, bytes]]:
    """The top-level boxes of an MP4 file: (name, content)."""
    found, at = [], 0
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        found.append((name.decode(), data[at + 8 : at + size]))
        at += size
    return found


def test_a_clip_starts_at_once_and_carries_no_metadata(filmed):
    data = (filmed[0] / "out" / "calm.mp4").read_bytes()
    names = [name for name, _ in boxes(data)]
    assert names.index("moov") < names.index("mdat")
    movie = dict(boxes(dict(boxes(data))["moov"]))
    created, modified = struct.unpack_from(">II", movie["mvhd"], 4)
    assert (created, modified) == (0, 0)
    assert movie["udta"].endswith(b"ilst"), "an empty list of tags"
    assert not re.search(rb"Lavf|Lavc\d|x264 - core|calm|Cartpole|rollout", data)


def test_a_poster_is_a_jpeg_of_the_clips_size_without_comments(filmed):
    data = (filmed[0] / "out" / "calm.jpg").read_bytes()
    assert data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9"
    frame = data.index(b"\xff\xc0")
    assert struct.unpack_from(">HH", data, frame + 5) == (HEIGHT, WIDTH)
    assert b"Lavc" not in data and b"Exif" not in data


def test_the_same_rollout_gives_the_same_bytes(filmed):
    folder = filmed[0]
    for suffix in (".mp4", ".jpg"):
        assert (folder / "b").with_suffix(suffix).read_bytes() == (folder / "out/calm").with_suffix(suffix).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.exhaustive)])
def test_a_killed_film_leaves_no_clip(tmp_path, number):
    rollout, clip = cartpole(tmp_path / "r.npz", 0.1), tmp_path / "clips" / "clip.mp4"
    process = subprocess.Popen([sys.executable, "-m", "simulation.film", str(rollout), str(clip)])
    while not list(clip.parent.glob(".clip.mp4.*.part")):
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait() != 0
    assert not list(clip.parent.glob("*.mp4")) and not list(clip.parent.glob("*.jpg"))
    if number == signal.SIGTERM:
        assert list(clip.parent.iterdir()) == []


def test_a_clip_that_cannot_be_written_says_so(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert not film.film_all([(cartpole(tmp_path / "r.npz", 0.1), tmp_path / "file" / "clip.mp4")])
    line = json.loads(capsys.readouterr().out)
    assert not line["ok"] and str(tmp_path / "file") in line["error"]


def test_an_encoder_that_fails_says_why(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(film.ENCODER, "vcodec", "no_such_codec")
    assert not film.film_all([(cartpole(tmp_path / "r.npz", 0.1), tmp_path / "clip.mp4")])
    assert "no_such_codec" in json.loads(capsys.readouterr().out)["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.npz"]


def test_an_odd_number_of_paths_is_a_usage_error():
    done = subprocess.run([sys.executable, "-m", "simulation.film", "a.npz"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "every ROLLOUT needs a CLIP" in done.stderr


def test_a_rollout_file_gives_back_what_was_written(tmp_path):
    path = cartpole(tmp_path / "deep" / "r.npz", 0.3, restart_at=7)
    rollout = read_rollout(path)
    assert (rollout.task, rollout.control_dt, rollout.qpos.shape) == ("Cartpole", CONTROL_DT, (STEPS, 2))
    assert np.flatnonzero(rollout.restart).tolist() == [7]
    assert rollout.mocap.shape == (STEPS, 0, 7)
    assert [p.name for p in path.parent.iterdir()] == ["r.npz"]


def test_a_rollout_file_keeps_the_poses_of_what_is_only_shown(tmp_path):
    mocap = np.random.default_rng(0).normal(size=(3, 2, 7))
    write_rollout(tmp_path / "r.npz", "Cartpole", np.zeros((3, 2)), CONTROL_DT, np.zeros(3), mocap)
    assert np.array_equal(read_rollout(tmp_path / "r.npz").mocap, mocap)


def test_a_rollout_file_from_before_there_were_such_poses_is_read(tmp_path):
    np.savez(tmp_path / "r.npz", task="Cartpole", qpos=np.zeros((3, 2)), control_dt=CONTROL_DT, restart=np.zeros(3))
    assert read_rollout(tmp_path / "r.npz").mocap.shape == (3, 0, 7)


@pytest.mark.parametrize(
    "mocap", [np.full((3, 1, 7), np.nan), np.zeros((3, 7)), np.zeros((2, 1, 7)), np.zeros((3, 1, 6))]
)
def test_unsound_poses_are_not_written(tmp_path, mocap):
    with pytest.raises(ValueError, match="mocap of a rollout"):
        write_rollout(tmp_path / "r.npz", "Cartpole", np.zeros((3, 2)), CONTROL_DT, np.zeros(3), mocap)


def test_poses_that_a_task_does_not_have_are_refused(tmp_path):
    write_rollout(tmp_path / "r.npz", "Cartpole", np.zeros((60, 2)), CONTROL_DT, np.zeros(60), np.zeros((60, 1, 7)))
    renderer = RolloutRenderer("Cartpole")
    with pytest.raises(ValueError, match="1 mocap bodies per state, Cartpole has 0"):
        next(renderer.frames(read_rollout(tmp_path / "r.npz"), 30, 30))
    renderer.close()


@pytest.mark.parametrize("qpos", [np.full((3, 2), np.nan), np.zeros(3), np.zeros((4, 2))])
def test_an_unsound_rollout_is_not_written(tmp_path, qpos):
    with pytest.raises(ValueError, match="of a rollout"):
        write_rollout(tmp_path / "r.npz", "Cartpole", qpos, CONTROL_DT, np.zeros(3))
    assert list(tmp_path.iterdir()) == []


def robot_pixels(frame: np.ndarray) -> np.ndarray:
    """Where the frame is strongly coloured and not green (rows, columns): the robot, not ground, sky or arrows."""
    wide = frame.astype(int)
    return np.argwhere((wide.max(-1) - wide.min(-1) > 90) & (wide.argmax(-1) != 1))


@pytest.mark.parametrize("task", ["Ant", "AntLieDown", "Humanoid", "HumanoidJump", "HumanoidDoor"])
def test_the_first_frame_says_in_green_what_the_robot_is_to_do(task):
    renderer = RolloutRenderer(task)
    rollout = Rollout(task, standing(task, 2, speed=0.0), CONTROL_DT, np.zeros(2, dtype=bool), np.zeros((2, 0, 7)))
    frame = next(renderer.frames(rollout, 1, 30)).astype(int)
    renderer.close()
    green = frame[..., 1] - frame[..., [0, 2]].max(-1) > 40
    assert green.sum() > 250
    rows, columns = np.nonzero(green)
    assert 8 < np.median(columns) < WIDTH - 8 and 8 < np.median(rows) < HEIGHT - 8


def test_tasks_of_one_body_are_told_apart():
    for tasks in (("Ant", "AntLieDown", "AntPatrolAndReturn"), ("Humanoid", "HumanoidJump")):
        looks = set()
        for task in tasks:
            model = build_visual_model(task)
            marks = (model.geom_group == VISUAL_GROUP) & (model.geom_bodyid == 0)
            looks.add(model.geom_pos[marks].round(3).tobytes() if marks.any() else b"")
        assert len(looks) == len(tasks) and b"" not in looks


@pytest.mark.parametrize(
    "task",
    ["Humanoid", "Cartpole", *(pytest.param(task, marks=pytest.mark.exhaustive) for task in ("Ant", "HumanoidJump"))],
)
def test_the_camera_follows_the_robot(tmp_path, task):
    write_rollout(tmp_path / "r.npz", task, standing(task, 60, speed=4.0), CONTROL_DT, np.zeros(60))
    renderer = RolloutRenderer(task)
    frames = [frame.copy() for frame in renderer.frames(read_rollout(tmp_path / "r.npz"), 30, 30)]
    renderer.close()
    for frame in (frames[0], frames[15], frames[29]):
        rows, columns = robot_pixels(frame).mean(0)
        assert len(robot_pixels(frame)) > 300
        assert 0.35 * WIDTH < columns < 0.65 * WIDTH and 0.2 * HEIGHT < rows < 0.8 * HEIGHT
    ground = [frame[HEIGHT - 60 :] for frame in (frames[10], frames[12])]
    assert (np.abs(ground[0].astype(int) - ground[1]).max(-1) > 8).mean() > 0.02, "the ground moves under it"


def test_a_jump_is_seen_against_the_ground(tmp_path):
    # the camera's height is constant, and the shadow stays on the ground below the feet
    qpos = standing("Humanoid", 60, speed=0.0)
    qpos[30:, 2] += 0.4
    write_rollout(tmp_path / "r.npz", "Humanoid", qpos, CONTROL_DT, np.zeros(60))
    renderer = RolloutRenderer("Humanoid")
    low, *_, high = (frame.copy() for frame in renderer.frames(read_rollout(tmp_path / "r.npz"), 30, 30))
    renderer.close()
    assert robot_pixels(low)[:, 0].max() - robot_pixels(high)[:, 0].max() > 25
    assert robot_pixels(low)[:, 0].min() - robot_pixels(high)[:, 0].min() > 25


def test_smoothing_keeps_a_steady_path_and_flattens_a_wobble():
    steady = np.linspace([0, 0, 1], [6, -3, 1], 90)
    assert np.allclose(smooth(steady, 12), steady)
    wobble = steady + 0.1 * np.sin(2 * np.pi * np.arange(90) / 10)[:, None]
    assert np.abs(smooth(wobble, 12) - steady)[15:-15].max() < 0.02
    assert np.array_equal(smooth(steady[:1], 12), steady[:1])


def test_a_restart_is_a_brief_dip_and_many_never_flash_three_times_a_second():
    restart = np.zeros(60, dtype=bool)
    restart[30] = True
    light = compute_brightness(restart)
    assert light[30] == light[29] == light.min() < DIP_BRIGHTNESS + 0.1
    assert (light[:26] == 1).all() and (light[34:] == 1).all()
    often = compute_brightness(np.ones(300, dtype=bool))
    dips = np.flatnonzero((often[1:-1] < often[:-2]) & (often[1:-1] <= often[2:]))
    assert np.diff(dips).min() > 10
