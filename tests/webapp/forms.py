"""Forms of the bench and the admin, filled in as a browser would send them."""


def experiment_form(**values):
    defaults = {"name": "E", "task": "Ant", "method": "icpl", "judge": "proxy", "k": 6, "n": 5, "preset": "quick"}
    defaults |= {"training_start": "random"}
    return {**defaults, "seed": 0, "model": "", **values}


STUDY = {
    **{
        "title": "S",
        "contact": "c@example.org",
        "description": "",
        "seed": 0,
        "consent_version": "1",
        "instructions": "",
    },
    **{"consent_text": "You watch robots and say which you like best. You may stop.", "most_attempts": 2},
    **{"debriefing": "", "thanks_text": "", "ethics_protocol": "2026-17", "ethics_expires_on": "2999-12-31"},
    **{"retention_days": 3650, "quota": "", "experiments_each": 1, "assignment": "balanced"},
    **{"parameter_person": "PROLIFIC_PID", "parameter_study": "STUDY_ID", "parameter_session": "SESSION_ID"},
}
ARM = {
    "name": "A",
    "position": 0,
    "task": "Ant",
    "method": "icpl",
    "k": 6,
    "n": 5,
    "preset": "quick",
    "panel": 1,
    "overlap": 1,
}
ARM["training_start"] = "random"


def study_form(*arms, study=None, questions=(), codes=(), **values):
    """What the form of a study sends, with an arm for each of `arms` (one by default)."""
    given = {**STUDY, **values}
    rows = {"arms": [{**ARM, **arm} for arm in arms or ({},)], "questions": questions, "codes": codes}
    for name, forms in rows.items():
        old = list(getattr(study, name).all()) if study else []
        given |= {f"{name}-TOTAL_FORMS": len(forms), f"{name}-INITIAL_FORMS": len(old)}
        for number, form in enumerate(forms):
            pk = {"id": old[number].pk} if number < len(old) else {}
            given |= {f"{name}-{number}-{field}": value for field, value in {**form, **pk}.items()}
    return given


def model_form(**values):
    return {"name": "M", "kind": "openai", "base_url": "https://x.example/v1", "model": "m", "api_key": "", **values}
