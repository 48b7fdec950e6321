"""How the first training of a task goes on an installation that has never measured one.

The moment at which a training has done a fraction of its work depends more on the task than on the machine: early films
take processors from it after its first tenth, and bodies that lie still are simulated faster. Recorded with
`python -m benchmarks.time_left`, quick preset, K=6, two processors without other work; an installation's own trainings
replace these.
"""

from __future__ import annotations

from webapp.experiments.courses import Course

PRESET = "quick"
FIRST_COURSES = {
    "Ant": Course(
        (0, 0.052, 0.088, 0.22, 0.325, 0.421, 0.544, 0.632, 0.702, 0.781, 0.851, 0.921, 0.991),
        (0, 0.056, 0.098, 0.181, 0.27, 0.354, 0.44, 0.53, 0.624, 0.736, 0.822, 0.928, 1),
    ),
    "Cartpole": Course(
        (0, 0.132, 0.199, 0.272, 0.338, 0.47, 0.536, 0.669, 0.735, 0.801, 0.868, 0.934),
        (0, 0.05, 0.283, 0.45, 0.525, 0.625, 0.7, 0.792, 0.875, 0.917, 0.975, 1),
    ),
}
