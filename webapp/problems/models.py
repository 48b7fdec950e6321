"""Problems, the tasks that are solved by a written answer or a program."""

from __future__ import annotations

import math
import uuid
from pathlib import PurePath

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from llm.records import ANSWER, PROGRAM
from programs.records import Case, Harness, Limits
from simulation import catalog
from webapp.problems.lines import ExactTextField

SECTIONS = {
    "mathematics": ("Final answer", "Reasoning"),
    "physics": ("Key final answer", "All final answers", "Reasoning"),
}
"""The headings that an answer should have, by subject; the first holds the final answer."""
ATTACHMENT_BYTES = 8 << 20
ATTACHMENT_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".md": "text/markdown",
}
"""The files that a problem may have, by ending, with what a browser is told about them: none of them runs anything."""
PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")


class Problem(models.Model):
    class Subject(models.TextChoices):
        MATHEMATICS = "mathematics", "Mathematics"
        PHYSICS = "physics", "Physics"
        PROGRAMMING = "programming", "Programming"
        OTHER = "other", "Other"

    class Form(models.TextChoices):
        ANSWER = ANSWER, "A written answer"
        PROGRAM = PROGRAM, "A program"

    class Language(models.TextChoices):
        CPP = "cpp", "C++17"
        PYTHON = "python", "Python 3"

    name = models.CharField(
        max_length=40,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9]+(-[a-z0-9]+)*$", "Small letters, digits and single hyphens only.")],
        help_text="How the command line and exports call it, for example sum-of-digits.",
    )
    title = models.CharField(max_length=120, help_text="Reviewers read it above the answers.")
    subject = models.CharField(max_length=12, choices=Subject, default=Subject.MATHEMATICS)
    form = models.CharField("an answer is", max_length=8, choices=Form, default=Form.ANSWER)
    language = models.CharField(
        max_length=8, choices=Language, default=Language.CPP, help_text="Of programs; written answers have none."
    )
    statement = models.TextField(help_text="Markdown, with TeX between dollar signs.")
    reference = models.TextField(
        blank=True, help_text="A solution for those who judge: Markdown with TeX. A model never sees it."
    )
    answer = models.CharField(
        "final answer",
        max_length=500,
        blank=True,
        help_text="What a right answer ends up with, in TeX. The proxy judge and scores go by it.",
    )
    tolerance = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0), MaxValueValidator(0.5)],
        help_text="Relative difference up to which two numbers are the same answer: 0.01 for one percent.",
    )
    cpu_seconds = models.FloatField(
        "seconds a case", default=2.0, validators=[MinValueValidator(0.1), MaxValueValidator(60)]
    )
    header_name = models.CharField(
        "name of the header",
        max_length=40,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(r"^[A-Za-z]\w*\.h\Z", "A name such as guess.h.")],
        help_text="How C++ programs include it, for example guess.h.",
    )
    header = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="Declares the functions that a C++ program implements. The model sees it. Empty: a program reads "
        "standard input and writes standard output.",
    )
    grader = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="C++ with a main function, compiled with each program: it reads the case, calls the functions and "
        "prints what they answer. No model sees it.",
    )
    checker = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="A program in the language above that is given the names of three files: the case's input, the "
        "expected output, what was printed. It prints the case's share of the points, from 0 to 1; what it writes to "
        "stderr is shown to reviewers. Empty: outputs must be equal but for white space.",
    )
    memory_mb = models.PositiveIntegerField(
        "memory in MB", default=256, validators=[MinValueValidator(16), MaxValueValidator(4096)]
    )
    show_reference = models.BooleanField(
        "reviewers see the reference", default=True, help_text="Off, where reviewers should judge unaided."
    )
    show_results = models.BooleanField("reviewers see test results", default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["subject", "name"]

    def __str__(self) -> str:
        return f"{self.title} ({self.name})"

    def clean(self) -> None:
        if self.name.lower() in {name.lower() for name in catalog.list_tasks()}:
            raise ValidationError({"name": "A robot's task has this name."})
        check_finite(self, "tolerance", "cpu_seconds")
        self._check_harness()

    def _check_harness(self) -> None:
        parts = {"header_name": self.header_name, "header": self.header, "grader": self.grader}
        given = [name for name, text in parts.items() if text.strip()]
        if (given or self.checker.strip()) and self.form != self.Form.PROGRAM:
            raise ValidationError({(given or ["checker"])[0]: "Only programs have one."})
        if given and self.language != self.Language.CPP:
            raise ValidationError({given[0]: "Only C++ programs have one."})
        if given:
            missing = [name for name in parts if name not in given]
            reason = "A header, its name and a grader belong together: fill in all three or none."
            if missing:
                raise ValidationError(dict.fromkeys(missing, reason))

    @property
    def sentence(self) -> str:
        """What is asked, for participants (as in `simulation.catalog.TaskInfo`)."""
        return self.title

    @property
    def metric(self) -> str | None:
        """What a score is; None if nothing can be scored (as in `simulation.catalog.TaskInfo`)."""
        if self.form == self.Form.PROGRAM:
            return "share of points" if self.cases.exists() else None
        return "1 if the final answer is right" if self.answer.strip() else None

    metric_row = ""
    """Answers have no traces (as in `simulation.catalog.TaskInfo`)."""

    folder = ""
    """Problems have no picture (as in `simulation.catalog.TaskInfo`)."""

    @property
    def sections(self) -> tuple[str, ...]:
        return SECTIONS.get(self.subject, SECTIONS["mathematics"])

    @property
    def limits(self) -> Limits:
        return Limits(self.cpu_seconds, self.memory_mb)

    @property
    def harness(self) -> Harness:
        texts = {name: getattr(self, name).replace("\r\n", "\n") for name in ("header", "grader", "checker")}
        return Harness(header_name=self.header_name, **texts)

    def test_cases(self) -> list[Case]:
        return [Case(row.stdin, row.expected, row.subtask) for row in self.cases.all()]

    def points(self) -> dict[int, float]:
        return {row.number: row.points for row in self.subtasks.all()}


def check_finite(row: models.Model, *names: str) -> None:
    """Raises ValidationError for infinity and NaN, which validators of least and greatest values let pass."""
    values = {name: getattr(row, name) for name in names}
    strange = [name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)]
    if strange:
        raise ValidationError(dict.fromkeys(strange, "This is not a finite number."))


def attachment_path(attachment: Attachment, name: str) -> str:
    return f"problems/{uuid.uuid4()}{get_ending(name)}"


def get_ending(name: str) -> str:
    """The ending of a file's name, which decides its type."""
    return PurePath(name).suffix.lower()[:8]


class Attachment(models.Model):
    """A figure or a file of a problem. Its name in the store is random."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="attachments")
    file = models.FileField(upload_to=attachment_path)
    name = models.CharField(max_length=100, blank=True, help_text="How people see it. Empty: the file's own name.")
    caption = models.CharField(max_length=300, blank=True)
    to_model = models.BooleanField(
        "the model sees it", default=True, help_text="Pictures only; the model must take pictures."
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name or "attachment"

    def save(self, *args: object, **kwargs: object) -> None:
        self.name = self.name or PurePath(self.file.name or "").name[:100]
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def clean(self) -> None:
        if self.file and self.file.size > ATTACHMENT_BYTES:
            raise ValidationError({"file": f"A file may have {ATTACHMENT_BYTES >> 20} MB at most."})
        if self.file and get_ending(self.file.name or "") not in ATTACHMENT_TYPES:
            endings = ", ".join(ATTACHMENT_TYPES)
            raise ValidationError({"file": f"A file of this kind cannot be taken. These can: {endings}."})

    @property
    def content_type(self) -> str:
        return ATTACHMENT_TYPES.get(get_ending(self.file.name or ""), "application/octet-stream")

    @property
    def is_picture(self) -> bool:
        return self.content_type in PICTURES


class Subtask(models.Model):
    """Cases of a programming problem that earn their points together: as many as the worst of them is worth."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="subtasks")
    number = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    points = models.FloatField(default=1.0, validators=[MinValueValidator(0)])

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["problem", "number"], name="one_subtask_per_number")]

    def __str__(self) -> str:
        return f"Subtask {self.number}"

    def clean(self) -> None:
        check_finite(self, "points")


class TestCase(models.Model):
    """What a program reads, and what it should print: compared without regard to white space, or by the problem's
    checker.
    """

    __test__ = False  # pytest: this is no test

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="cases")
    subtask = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    stdin = ExactTextField("input", blank=True)
    expected = ExactTextField("expected output", blank=True)

    class Meta:
        ordering = ["subtask", "id"]

    def __str__(self) -> str:
        return f"Case of subtask {self.subtask}"
