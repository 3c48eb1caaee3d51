"""What is counted."""

from reports.size import counted


def test_names_without_an_underscore_at_the_top_are_public() -> None:
    one = "def a():\n    def b(): ...\n\nclass C:\n    def d(self): ...\n"
    assert counted([one, "X = 1\ndef _e(): ...\nasync def f(): ..."]) == (2, 8, 3)
