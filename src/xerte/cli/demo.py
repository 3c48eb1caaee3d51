"""`xerte demo`: the main job on the embedded world."""

from typing import TYPE_CHECKING

from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api import Forecast, Model

ROLES = {"recurrence": "floor", "oracle": "ceiling"}


def demo(as_json: AsJson = False) -> None:
    """Runs the main job on the embedded world: statistics, floor and ceiling, one forecast with its evidence.

    \b
    xerte demo
    xerte demo --json
    """
    from xerte import api
    from xerte.api.datasets import statistics
    from xerte.data.world import generate

    world = generate()
    data, counts = world.dataset, statistics(world.dataset)
    if not as_json:
        first, last = (data.calendar.format(int(time)) for time in (data.facts.time[0], data.facts.time[-1]))
        print_text(
            f"The embedded world: {len(data.facts):,} events of {counts.relations} kinds among {counts.entities} "
            f"entities, {first} to {last}; every event's cause is known."
        )
    models = {name: api.Model.load(name, data) for name in ROLES}
    evaluations = {}
    for name, model in models.items():
        with progress(f"{name} on world", "questions") as report:
            evaluations[name] = model.evaluate(Split.TEST, report)
    subject, relation, time, truth = world.example()
    answers = {name: model.forecast(subject, relation, time, top=3) for name, model in models.items()}
    if as_json:
        print_json(
            {
                "statistics": counts.to_json(),
                "evaluations": {name: evaluation.to_json() for name, evaluation in evaluations.items()},
                "truth": truth,
                "forecasts": {name: answer.to_json() for name, answer in answers.items()},
            }
        )
        return
    metrics = {name: evaluation.metrics() for name, evaluation in evaluations.items()}
    print_table(
        "Forecasting the test days, time-aware filter (percent)",
        ("model", "MRR", "Hits@1", "Hits@3", "Hits@10"),
        [(f"{name} ({ROLES[name]})", one.mrr, one.hits_1, one.hits_3, one.hits_10) for name, one in metrics.items()],
    )
    print_text(f"On {time}, whom or what: ({subject}, {relation}, ?)   What happened: {truth}")
    for name, answer in answers.items():
        _tell(models[name], answer)


def _tell(model: "Model", answer: "Forecast") -> None:
    best = ", ".join(f"{one.entity} ({one.score:.3f})" for one in answer.answers)
    print_text(f"  {model.name}: {best or 'no answer'}")
    for note in answer.notes:
        print_text(f"    note: {note}")
    if answer.answers:
        for reason in model.evidence(answer.question, answer.answers[0].entity, most=3):
            one = reason.event
            print_text(
                f"    because {one.subject} {one.relation} {one.object} on {one.time} (weight {reason.weight:.3f})"
            )
