"""What becomes of problems that are solved by an answer or a program, and of notices to people."""

from __future__ import annotations

from typing import Any

from webapp.archive.rules import Omitted, Table, keep, keep_link, keep_moment


def drop_notice(dropped: Any) -> Any:
    """An imported notice is never sent."""
    return dropped or "imported"


TABLES = (
    Table(
        "problems.Problem",
        "problems",
        "Problems whose answers were judged, where the task was no robot's.",
        root="problem",
        path="",
        shared="name",
        columns={
            "name": keep("Name; the task of experiments and arms."),
            "title": keep("Title, as reviewers read it."),
            "subject": keep("Subject; it decides which headings an answer should have."),
            "form": keep("Whether a written answer is wanted, or a program."),
            "language": keep("Of programs."),
            "statement": keep("The problem (Markdown with TeX)."),
            "reference": keep("A solution for those who judge; no model saw it."),
            "answer": keep("What a right answer ends up with."),
            "tolerance": keep("Relative difference up to which two numbers are the same answer."),
            "cpu_seconds": keep("Time of a program for one case.", "s"),
            "memory_mb": keep("Memory of a program.", "MB"),
            "header_name": keep("How C++ programs include the header."),
            "header": keep("Declares the functions that a program implements; empty: it reads its input."),
            "grader": keep("What is compiled with a program and calls these functions."),
            "checker": keep("The program that tells what an output is worth; empty: equal but for white space."),
            "show_reference": keep("Whether reviewers saw the reference."),
            "show_results": keep("Whether reviewers saw the results of tests."),
            "created_at": keep_moment("When the problem was set up."),
        },
    ),
    Table(
        "problems.Attachment",
        "attachments",
        "Figures and files of problems, in problems/.",
        root="problem",
        path="problem",
        part_of="problem",
        columns={
            "problem": keep_link(),
            "file": keep("Name of the file in this export."),
            "name": keep("How people saw it."),
            "caption": keep("What stood below."),
            "to_model": keep("Whether the model saw it."),
        },
    ),
    Table(
        "problems.Subtask",
        "subtasks",
        "Parts of programming problems: each earns as many of its points as the worst of its cases is worth.",
        root="problem",
        path="problem",
        part_of="problem",
        columns={
            "problem": keep_link(),
            "number": keep("Number, from 1."),
            "points": keep("Points for all of its cases."),
        },
    ),
    Table(
        "problems.TestCase",
        "test_cases",
        "What programs read, and what they should print.",
        root="problem",
        path="problem",
        part_of="problem",
        columns={
            "problem": keep_link(),
            "subtask": keep("Number of its subtask."),
            "stdin": keep("What the program reads."),
            "expected": keep("What it should print."),
        },
    ),
)
NOTICES = (
    Table(
        "notices.Notice",
        "notices",
        "Messages that told people of a round, without addresses.",
        root="study",
        path="participant__study",
        person="participant",
        columns={
            "participant": keep_link(),
            "request": keep_link(),
            "session": keep("The session of pairs that was open; 0: a round."),
            "kind": keep("ready or reminder."),
            "channel": keep("email or push."),
            "due_at": keep_moment("When it was to be sent."),
            "sent_at": keep_moment("When it was sent."),
            "dropped": keep("Why it was not sent after all.", arrives=drop_notice),
            "attempts": keep("How often it was tried."),
            "error": keep("Of the last attempt."),
            "created_at": keep_moment("When it was ordered."),
        },
    ),
)
OMITTED = (
    Omitted("notices.Address", "Personal.", person="participant"),
    Omitted("notices.Subscription", "Personal: a browser's address.", person="participant"),
)
