"""An error is (code, message, hint), on one line, and names no command."""

import pickle
import re
from pathlib import Path

from xerte.cli.hints import sentence
from xerte.errors import DatasetError, InputError, UnknownNameError, escaped

SOURCES = Path(__file__).parents[1] / "src" / "xerte"


def test_the_text_is_message_and_hint() -> None:
    error = InputError("there is no setting gama", hint="did you mean gamma?")
    assert (error.code, str(error)) == ("bad_input", "there is no setting gama: did you mean gamma?")
    assert str(InputError("nothing more")) == "nothing more"


def test_a_place_keeps_kind_code_and_hint() -> None:
    error = UnknownNameError("entity", "Anne", ["Ann"]).at("question 3")
    assert isinstance(error, UnknownNameError)
    assert error.close == ("Ann",)
    assert (error.code, str(error)) == ("unknown_name", "question 3: no entity is called Anne: did you mean Ann?")


def test_an_error_travels_between_processes() -> None:
    error = UnknownNameError("entity", "Anne", ["Ann"]).at("question 3")
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), arrived.close) == (UnknownNameError, str(error), ("Ann",))


def test_a_hostile_name_stays_on_one_short_line() -> None:
    text = str(UnknownNameError("entity", "a\n\u202eb\0" + "x" * 10_000))
    assert text.startswith("no entity is called a��b�xx")
    assert len(text) < 200


def test_the_command_line_says_what_to_type() -> None:
    error = DatasetError("icews14 is not here yet", hint="get it first", code="dataset_not_here", name="icews14")
    assert sentence(error) == "icews14 is not here yet: run `xerte data get icews14`"
    assert sentence(InputError("two\nlines")) == "two lines"


def test_no_error_below_the_interfaces_names_a_command_or_an_option() -> None:
    raised = re.compile(r"(?:Error|damaged)\((?:[^()]|\([^()]*\))*(?:`xerte |\s--[a-z])")
    rooms = [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).parts[0] not in ("cli", "bench")]
    assert [str(path.relative_to(SOURCES)) for path in rooms if raised.search(path.read_text("utf-8"))] == []


def test_what_steers_a_terminal_is_written_out() -> None:
    assert escaped("a\x1b[31m\u202eb\ud800\x9b\n\tü👩\u200d🚀") == "a\\x1b[31m\\u202eb\\ud800\\x9b\n\tü👩\u200d🚀"


def test_a_message_is_one_short_line() -> None:
    text = sentence(InputError("start " + "\x1b" * 10_000 + "\nend", hint="do this"))
    assert len(f"xerte: {text}") <= 300
    assert text.startswith("start \\x1b")
    assert text.endswith("end: do this")
