"""What becomes of questionnaires and the answers to them (webapp.studies.questionnaires)."""

from __future__ import annotations

from webapp.archive.rules import Table, keep, keep_link, keep_moment, keep_rows

TABLES = (
    Table(
        "studies.Questionnaire",
        "questionnaire_pages",
        "The questionnaires of the study; questionnaires.csv has what people answered.",
        root="study",
        path="study",
        columns={
            "study": keep_link(),
            "position": keep("Place among those that are asked at the same time."),
            "title": keep("Title, as participants read it."),
            "intro": keep("The text below it."),
            "placement": keep("When it is asked: before the rounds, between them, after each experiment, at the end."),
            "every": keep("Between rounds: after every n-th."),
            "rounds": keep("Between rounds: after these, separated by commas; empty: as in every."),
            "arms": keep_rows("studies.Arm", "Whose participants are asked; empty: everybody is."),
            "shuffle": keep("Whether each person got the items and rows in an order of their own."),
            "score": keep("The score that is computed from it: sus, tlx, mean or none."),
            "active": keep("Whether people were still asked."),
            "created_at": keep_moment("When it was set up."),
        },
    ),
    Table(
        "studies.Item",
        "questionnaire_items",
        "The questions, and the texts between them; codebook.csv explains their columns.",
        root="study",
        path="questionnaire__study",
        columns={
            "questionnaire": keep_link(),
            "position": keep("Place in the questionnaire."),
            "variable": keep("Its column, or the beginning of its columns' names, in questionnaires.csv."),
            "kind": keep("single, multiple, scale, grid, number, short, long or section (a text without answer)."),
            "text": keep("The question."),
            "hint": keep("The small letters below it."),
            "required": keep("Whether it had to be answered."),
            "options": keep("Options, one a line; the first has code 1."),
            "other_label": keep("The last option, which people completed in their own words; empty: there was none."),
            "statements": keep("Rows of a grid, one a line."),
            "reversed_rows": keep("Numbers of the rows that the score turns round."),
            "steps": keep("Steps of a scale or grid."),
            "low_label": keep("The word at step 1."),
            "high_label": keep("The word at the last step."),
            "lowest": keep("The smallest number that was taken."),
            "highest": keep("The largest."),
            "unit": keep("Unit of the number."),
            "shown_when": keep_link("The item on whose answer it depends; empty: always shown."),
            "shown_codes": keep("The answers there that show it."),
        },
    ),
)
ANSWERS = (
    Table(
        "studies.Response",
        "questionnaire_responses",
        "Questionnaires that were opened, one row for each person and moment.",
        root="study",
        path="participant__study",
        person="participant",
        columns={
            "questionnaire": keep_link(),
            "participant": keep_link(),
            "experiment": keep_link("Empty where it is asked once in the study."),
            "round": keep("The round that it followed; 0: none."),
            "order": keep("Variables in the order shown."),
            "opened_at": keep_moment("When its page was first shown."),
            "sent_at": keep_moment("When it was answered; empty: not yet."),
        },
    ),
    Table(
        "studies.Answer",
        "questionnaire_answers",
        "Answers to single items. An optional item that was left out has no row.",
        root="study",
        path="response__participant__study",
        person="response__participant",
        columns={
            "response": keep_link(),
            "item": keep_link(),
            "value": keep(
                "A code, a list of codes, codes with own words, codes by row, a number, or what the person typed."
            ),
            "created_at": keep_moment("When it was stored."),
        },
    ),
)
