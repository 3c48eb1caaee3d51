"""What every document shares."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """A JSON document; what was not set is not printed."""

    model_config = ConfigDict(
        from_attributes=True, frozen=True, use_attribute_docstrings=True, ser_json_inf_nan="null", populate_by_name=True
    )

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the keys that were set."""
        return self.model_dump(exclude_unset=True, by_alias=True)


class Versions(Body):
    """What an answer was made from; the same versions give the same answer."""

    dataset: str
    """Changes with every fact and name: a hash of what was imported and, behind a "+", how many rows came since."""
    model: str
    """Changes with every weight."""


class Error(Body):
    """What went wrong."""

    code: str
    """One word for programs: `unknown_name`, `bad_input`, `too_many_requests` …"""
    message: str
    """What is wrong and where."""
    hint: str = ""
    """What to do about it."""
