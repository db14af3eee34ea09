"""Which worker runs which tests: those of a file together, because they are compiled for and prepared together."""

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

BANDITS = ("tests/bandits/", "tests/service/", "tests/experiments/")
"""Folders whose tests use compiled code of bandits."""


class FileScheduling(LoadGroupScheduling):
    """Hands out whole files, or whole groups where tests are marked with one.

    Tests of a file use the same compiled functions and the same fixtures. One at a time they would go to all workers in
    turn, and each of these would compile and prepare the same, at the same moment. For the same reason every second
    worker begins with the files about bandits, the others with the rest, as long as there are any.

    Groups need the mark in a test's id: with pytest 9.2, xdist 3.8 does not get it there, and only files stay together.
    """

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        about_bandits = self.nodes.index(node) % 2 == 1
        mine = (scope for scope in self.workqueue if scope.startswith(BANDITS) == about_bandits)
        if (scope := next(mine, None)) is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
