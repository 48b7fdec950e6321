"""Forms of the admin, one file for each room whose rows they change."""

from webapp.bench.admin import (  # noqa: F401 (each registers its models)
    accounts,
    comparisons,
    endpoints,
    experiments,
    loop_rows,
    notices,
    problems,
    review,
    studies,
    votes,
)
