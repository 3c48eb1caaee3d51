"""A model's card, and its calibration learned anew."""

from pathlib import Path

import pytest

from test_contract import small_dataset
from xerte import api
from xerte.api.card import calibrate_saved, card, lines
from xerte.errors import InputError
from xerte.types import Split

DATA = small_dataset()


def test_a_model_calibrated_anew_keeps_it_and_is_not_judged_by_what_it_knows(tmp_path: Path, own_home: Path) -> None:
    api.train(DATA, model="distmult", dim=3, epochs=1, device="cpu", folder=tmp_path / "m")
    model = api.Model.load(tmp_path / "m", DATA)
    assert model.evaluate_probabilities(Split.TEST).check.questions > 0
    until = DATA.calendar.format(55)
    found = calibrate_saved(model, until=until)
    assert found.window is not None
    assert found.window[1] < until
    since = found.since
    assert since is not None
    later = DATA.facts.time >= DATA.calendar.parse(found.window[1]) + 1
    assert since["check"]["questions"] == 2 * int(later.sum())  # and not those that calibration was learned from
    assert f"Learned from the questions from {found.window[0]} to {found.window[1]}." in lines(found)
    again = api.Model.load(tmp_path / "m", DATA)
    assert again.calibration is not None
    assert model.calibration is not None
    assert again.calibration.to_json() == model.calibration.to_json()
    assert card(again).window == found.window
    with pytest.raises(InputError, match=f"calibrated on facts until {found.window[1]}, and test begins"):
        again.evaluate_probabilities(Split.TEST)
    assert again.evaluate_probabilities(Split.VALID).check.questions > 0
    with pytest.raises(InputError, match="too few facts from where valid begins until 2024-01-05"):
        calibrate_saved(again, until="2024-01-05")
    calibrate_saved(again)
    assert again.evaluate_probabilities(Split.TEST).check.questions > 0


def test_what_is_kept_in_no_folder_is_not_calibrated_anew() -> None:
    with pytest.raises(InputError, match="is not kept in a folder"):
        calibrate_saved(api.Model.load("recurrence", DATA))
