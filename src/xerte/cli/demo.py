"""`xerte demo`: the main job on the embedded world."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.cli.train import training_bar
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api import Forecast
    from xerte.evaluation.metrics import Metrics

NEXT = """
What next? Your own events:
  xerte data preview my.csv              guesses the columns and prints the import command
  xerte train NAME                       learns from them
  xerte forecast NAME WHO WHAT WHEN      asks; `xerte explain` says why
docs/tutorial.md takes you through it in five minutes."""
ROLES = {"recurrence": "floor", "best": "trained here", "oracle": "ceiling"}
EPOCHS = 2
"""Half of what `xerte train world` takes: a minute or two, and a point of MRR less."""


def demo(as_json: AsJson = False) -> None:
    """Runs the main job on the embedded world.

    It trains a model, compares it with the simplest and the best possible forecasts, and asks it why.

    Every event of the world has a known cause, so the table says which kinds of cause were understood.

    \b
    xerte demo
    xerte demo --json
    """
    from xerte import api
    from xerte.api.datasets import statistics
    from xerte.api.training import run_folder
    from xerte.api.world import by_cause, understood
    from xerte.data.world import generate

    world = generate()
    data, counts = world.dataset, statistics(world.dataset)
    if not as_json:
        first, last = (data.calendar.format(int(time)) for time in (data.facts.time[0], data.facts.time[-1]))
        print_text(
            f"The embedded world: {len(data.facts):,} events of {counts.relations} kinds among {counts.entities} "
            f"entities, {first} to {last}; every event's cause is known. Training takes a minute or two."
        )
    started = perf_counter()
    with training_bar() as report:
        trained = api.train(data, on_progress=report, epochs=EPOCHS)
    seconds = perf_counter() - started
    trained.save(run_folder(data, "demo"))
    models = {name: trained if name == trained.name else api.Model.load(name, data) for name in ROLES}
    example = None
    overall, causes = dict[str, "Metrics"](), dict[str, dict[str, "Metrics"]]()
    for name, model in models.items():
        with progress(f"{name} on world", "questions") as judged:
            evaluation = model.evaluate(Split.TEST, judged)
        overall[name], causes[name] = evaluation.metrics(), by_cause(world, evaluation)
        if model is trained:
            example = understood(world, evaluation)
    subject, relation, time, truth = example or world.example()
    answers = {name: model.forecast(subject, relation, time, top=3) for name, model in models.items()}
    if as_json:
        body: dict[str, Any] = {"statistics": counts.to_json(), "training_seconds": seconds, "truth": truth}
        body["evaluations"] = {name: metrics.to_json() for name, metrics in overall.items()}
        body["by_cause"] = {
            name: {cause: metrics.to_json() for cause, metrics in groups.items()} for name, groups in causes.items()
        }
        print_json(body | {"forecasts": {name: answer.to_json() for name, answer in answers.items()}})
        return
    print_text(f"Trained in {seconds:.0f} s.")
    print_table(
        "Forecasting the test days, time-aware filter (percent)",
        ("model", "MRR", "Hits@1", "Hits@3", "Hits@10"),
        [(f"{name} ({ROLES[name]})", one.mrr, one.hits_1, one.hits_3, one.hits_10) for name, one in overall.items()],
    )
    print_table(
        "MRR by what caused the event",
        ("cause", "questions", *models),
        [(cause, some.queries, *(causes[n][cause].mrr for n in models)) for cause, some in causes["oracle"].items()],
    )
    if example:
        print_text("One event with a cause two hops away that was forecast right, and what each model went by:")
    print_text(f"On {time}, whom or what: ({subject}, {relation}, ?)   What happened: {truth}")
    for name, answer in answers.items():
        _print_answers(name, answer)
    print_text(NEXT)


def _print_answers(name: str, answer: "Forecast") -> None:
    best = ", ".join(f"{one.entity} ({one.score:.3f})" for one in answer.answers)
    print_text(f"  {name}: {best or 'no answer'}")
    for note in answer.notes:
        print_text(f"    note: {note}")
    if answer.answers:
        for reason in answer.explain(most=3).evidence[:3]:
            print_text(f"    {reason.share:>4.0%}  {reason.sentence}")
