"""Checks of arguments."""

import pytest

from tutelage.checks import one_of
from tutelage.errors import InvalidArgument


@pytest.mark.parametrize(
    ("value", "remedy"),
    [("orthogonl", "Perhaps 'orthogonal' is meant"), ("cube", "Choose one of these"), (3, "Choose")],
)
def test_a_wrong_name_is_answered_with_the_closest_one(value, remedy):
    """Where a name is close to one that is allowed, the error says which; otherwise it lists them."""
    with pytest.raises(InvalidArgument, match=f"'ball', 'neurons', 'orthogonal', but received .*{remedy}"):
        one_of("shape", value, ("ball", "neurons", "orthogonal"))


def test_of_many_names_those_are_shown_that_may_be_meant() -> None:
    """A list of thirty is not read; one without a close name is shown whole."""
    names = [f"{first}{second}" for first in "abcdef" for second in ("one", "two", "three", "four", "five")]
    with pytest.raises(
        InvalidArgument, match=r"^`name` must be one of ('\w+', ){0,2}'\w+' \(or 2\d others\), but .*'atwo' is"
    ):
        one_of("name", "attwo", names)
    with pytest.raises(InvalidArgument, match=r"'aone'.*'ffive', but received '\?'\. Choose one of these"):
        one_of("name", "?", names)
