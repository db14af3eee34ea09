"""Which worker runs which tests: those of a file together, because they are compiled for and prepared together."""

from xdist.scheduler import LoadGroupScheduling


class FileScheduling(LoadGroupScheduling):
    """Hands out whole files, or whole groups where tests are marked with one.

    Tests of a file use the same compiled functions and the same fixtures. One at a time they would go to all workers in
    turn, and each of these would compile and prepare the same, at the same moment.

    Groups need the mark in a test's id: with pytest 9.2, xdist 3.8 does not get it there, and only files stay together.
    """

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("::")[0]
