"""One child process of a training run. Imports neither torch nor mujoco."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from trainer.calls import CallWatch, clear_mark, read_candidate, read_mark
from trainer.log_lines import say
from trainer.process import EXIT_DISK_FULL, EXIT_WAITS, clean_environment
from trainer.records import Progress, drop_candidate, read_job, read_progress, read_result, shard_folder

SPEED_SECONDS = 20.0
"""Speed, and with it the time left, is measured over this many last seconds."""
MEASURABLE_SECONDS = 1.0
"""Nothing is estimated from less than this."""
CRASHES = 3
"""After this many crashes in a row without progress, a child's candidates cannot be trained."""
CRASHES_IN_ONE_CALL = 2
"""After this many of them in calls of the same candidate's reward, the candidate is dropped: one may be chance."""
PROGRESS_FRACTION = 0.1
"""Progress between two crashes means at least this fraction of the training: less is within the error of the files."""

KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(128 << 20)}
"""Have glibc keep tensors' memory for the next ones: SAC of six candidates spends a seventh of its time on getting it
again from the kernel."""


@dataclass
class Shard:
    """One child process and the candidates it trains."""

    job_dir: Path
    first: int
    last: int
    threads: int
    device: str = "cpu"
    memory: int = 0
    """Bytes that the child may take beyond its libraries; 0: its own default."""
    process: subprocess.Popen[bytes] | None = None
    crashes: int = 0
    """Crashes in a row, without progress between them."""
    blamed: list[int] = field(default_factory=list)
    """The candidates in whose calls these were."""
    watch: CallWatch = field(default_factory=CallWatch)
    reached: float = 0.0
    """The fraction of the training at the first of them."""
    waits: bool = False
    """Whether it ended to wait for answers about pairs: a later start goes on."""
    failure: str = ""
    """Why its candidates cannot be trained, once that is certain."""
    started: float = 0.0
    """When the child was started, by the clock of the file system; older progress is another child's."""
    history: deque[tuple[float, float, float, int]] = field(default_factory=deque)
    """(time, seconds of it without sessions in which rewards were learned, fraction, samples) over the last
    SPEED_SECONDS of those and the last before them: an iteration may take longer."""

    @property
    def folder(self) -> Path:
        """Its progress, checkpoint and result."""
        return shard_folder(self.job_dir, self.first, self.last)

    def start(self) -> None:
        """Start the child. It ends when this process does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "trainer.lockstep", str(self.job_dir), str(self.first), str(self.last)]
        command += ["--threads", str(self.threads), "--device", self.device, "--parent", str(os.getpid())]
        command += ["--memory", str(self.memory)] if self.memory else []
        # One thread of torch per process; idle OpenMP threads must not spin beside the other shards.
        threads = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "MKL_NUM_THREADS": "1"}
        environment = clean_environment(**threads, **KEEP_MEMORY)
        clear_mark(self.folder)
        self.watch = CallWatch()
        self.history.clear()
        self.started = time.time()
        # MuJoCo writes its warnings into the working folder.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment)

    def stop(self) -> None:
        """Kill the child, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def done(self) -> bool:
        """Whether it has a result, waits for answers, or certainly will have no result."""
        return bool(self.failure) or self.process is None

    def check_child(self) -> bool:
        """Check the child, and return whether it is done. Restarts it after a crash, and without a candidate whose
        reward does not end or crashes it again. Raises OSError when the disk is full.
        """
        if self.process is None or self.failure:
            return self.done
        if self.process.poll() is None:
            self._end_endless_call(self.process.pid)
            return False
        status = self.process.returncode
        if status == 0 and read_result(self.folder) is not None:
            self.process = None
            return True
        if status == EXIT_WAITS and any(one and one.outside for one in read_job(self.job_dir).preferences):
            self.process, self.waits = None, True
            return True
        if status == EXIT_DISK_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        self._count_crash()
        if self._drop_crashing(cause):
            return False
        if self.crashes < CRASHES:
            resumable = (self.folder / "checkpoint.pt").exists()
            how = "continuing from its checkpoint" if resumable else "starting it again"
            say(f"shard {self.first}-{self.last} crashed ({cause}); {how}")
            self.start()
            return False
        self.failure = f"the training process crashed {CRASHES} times in a row ({cause}); see log.txt of the run"
        say(f"shard {self.first}-{self.last}: {self.failure}")
        return True

    def _end_endless_call(self, pid: int) -> None:
        mark = read_mark(self.folder)
        reason = self.watch.look(mark, pid, time.monotonic())
        index = self._find_candidate(mark)
        if reason and index is not None:
            self._restart_without(index, f"limits: {reason}")

    def _drop_crashing(self, cause: str) -> bool:
        """Drop the candidate in whose calls the child crashed repeatedly; whether there is one."""
        index = self._find_candidate(read_mark(self.folder))
        if index is None:
            return False
        self.blamed.append(index)
        if self.blamed.count(index) < CRASHES_IN_ONE_CALL:
            return False
        how = f"its calls ended the training process {CRASHES_IN_ONE_CALL} times ({cause})"
        self._restart_without(index, f"run: {how}: it may need too much memory")
        return True

    def _find_candidate(self, mark: int) -> int | None:
        """The candidate of the child's mark, if it is one of the child's: the file is open to generated code."""
        index = read_candidate(mark)
        return index if index is not None and self.first <= index < self.last else None

    def _restart_without(self, index: int, reason: str) -> None:
        """Go on with the other candidates, from the last checkpoint."""
        self.stop()
        say(f"shard {self.first}-{self.last}: going on without candidate {index}", reason)
        drop_candidate(self.folder, index, reason)
        self.crashes, self.blamed = 0, []
        self.start()

    def _count_crash(self) -> None:
        fraction = read_progress(self.folder).fraction
        if not self.crashes or fraction >= self.reached + PROGRESS_FRACTION:
            self.crashes, self.reached, self.blamed = 0, fraction, []
        self.crashes += 1

    def observe(self, now: float) -> Progress:
        """Its latest progress, remembered for the speed."""
        progress = read_progress(self.folder)
        latest = (progress.fraction, progress.samples)
        if not self._is_fresh() or progress.phase != "training":
            return progress
        if not self.history or self.history[-1][2:] != latest:
            stepped = now - progress.learning_seconds
            self.history.append((now, stepped, *latest))
            while len(self.history) > 2 and self.history[1][1] <= stepped - SPEED_SECONDS:
                self.history.popleft()
        return progress

    def speed(self) -> tuple[float, float] | None:
        """Fraction and samples per second while no reward is learned; None before they can be measured."""
        if len(self.history) < 2:
            return None
        (_, begin, *first), (_, end, *last) = self.history[0], self.history[-1]
        if end - begin < MEASURABLE_SECONDS or last[0] <= first[0]:
            return None
        return (last[0] - first[0]) / (end - begin), (last[1] - first[1]) / (end - begin)

    def seconds_left(self, progress: Progress, now: float) -> float | None:
        """Seconds to the end at the measured speed, with the sessions ahead; None before these can be measured."""
        if progress.fraction >= 1 or self.failure:
            return 0.0
        speed = self.speed()
        if speed is None or progress.learning_left is None:
            return None
        waited = now - self.history[-1][0]
        return max(0.0, (1 - progress.fraction) / speed[0] + progress.learning_left - waited)

    def _is_fresh(self) -> bool:
        file = self.folder / "progress.json"
        return file.exists() and file.stat().st_mtime >= self.started
