"""Experiment files: what is read from one, and what is refused."""

from pathlib import Path

import pytest

from xerte.errors import InputError
from xerte.experiment.definition import files_of, read_experiment


def test_what_a_file_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'dataset = "world"\nmodel = "xerte"\npreset = "world"\nset = { k = 5, sampling = "last" }\n'
        "wanted = [3, 4]\nseeds = [3]\n[published]\nmrr = 3\n"
    )
    one = read_experiment(file)
    assert (one.name, one.dataset, one.model, one.preset) == ("mine", "world", "xerte", "world")
    assert (dict(one.overrides), one.wanted, one.seeds) == ({"k": 5, "sampling": "last"}, (3, 4), (3,))
    assert one.run_name(3) == "world-mine-seed3"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('dataset = "a"\nmodel = "xerte"\npreset = "p"\n', "'seeds'"),
        ('dataset = "a"\nmodel = "xerte"\npreset = "p"\nseeds = [1.5]\n', "seeds are whole numbers"),
        ('dataset = "a"\nmodel = "xerte"\npreset = 3\nseeds = []\n', "dataset, model and preset are words"),
        ('dataset = "a"\nmodel = "xerte"\npreset = "p"\nset = 3\nseeds = []\n', "set is a table"),
        ('dataset = "a"\nmodel = "xerte"\npreset = "p"\nseeds = []\nsed = 1\n', "it has a part sed; known are"),
    ],
)
def test_what_is_no_experiment_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=rf"x\.toml is not an experiment: .*{problem}"):
        read_experiment(tmp_path / "x.toml")


def test_files_and_folders_are_named_once_each(tmp_path: Path) -> None:
    names = [tmp_path / "b" / "2.toml", tmp_path / "b" / "1.toml", tmp_path / "a.toml"]
    for name in names:
        name.parent.mkdir(exist_ok=True)
        name.write_text("")
    assert files_of([names[0], tmp_path / "b", names[2]]) == names
    with pytest.raises(InputError, match=r"there is no experiment .*nothing"):
        files_of([tmp_path / "nothing"])
