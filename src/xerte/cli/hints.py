"""What to type after an error: the command line's hints, by the error's code."""

from xerte.errors import LONGEST_MESSAGE, XerteError, one_line

_HINTS = {
    "ambiguous_time": "say it with --time-format {one} or --time-format {other}",
    "broken_download": "try again, it goes on from there, or take the files from a folder with --from",
    "damaged_dataset": "remove the folder and make it again with `xerte data get` or `xerte data import`",
    "dataset_not_here": "run `xerte data get {name}`",
    "file_exists": "choose another file, or overwrite it with --force",
    "file_waits": "mend it, or take all other rows with --bad-rows skip",
    "future": "where it is meant, say so with --future",
    "knows_answers": "`xerte model calibrate {model}` calibrates it on valid",
    "name_taken": "choose another name, or replace it with --replace",
    "needs_query": 'say what to read with `xerte data import … --sql "FROM table"`',
    "not_imported": "prepare it with `xerte data import`",
    "not_reached": "check the connection, or take the files from a folder with --from",
    "not_published": "take it under a name of your own with `xerte data import`",
    "one_column": "if that is several, say what stands between them with --delimiter",
    "other_training": "train into another folder with --out, or first `xerte model remove {folder}`",
    "other_version": "remove the folder and make it again with `xerte data get` or `xerte data import`",
    "several_blocks": "say which to read, like --table '{part}'",
    "several_tables": "choose one with --table ({tables})",
    "unfinished_model": "the same `xerte train` again finishes it",
    "unknown_time": "say how they are written with --time-format, like %d/%m/%Y %H:%M",
    "unknown_dataset": "see `xerte data list`",
    "unknown_name": "`xerte data search` finds names",
}


def sentence(error: XerteError) -> str:
    """The error on one line, with what to type where we know it."""
    if error.code == "not_trained":
        hint = _train(error.about)
    elif error.hint.startswith("did you mean"):  # nothing to type is better than the right name
        hint = ""
    else:
        hint = _HINTS.get(error.code, "")
    text = f"{error.message}: {hint.format(**error.about)}" if hint else str(error)
    return one_line(text, LONGEST_MESSAGE - len("xerte: "))


def _train(about: dict[str, str]) -> str:
    model = "" if about["preset"] == "auto" else f" --model {about['model']}"
    return f"`xerte train {about['dataset']}{model}` does that, or name its folder"
