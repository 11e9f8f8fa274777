from contextlib import AbstractContextManager

from dsgkit.experiment import cells


class InProcess(AbstractContextManager):
    """An executor without workers: a job runs when its result is waited for."""

    def __init__(self):
        self._jobs = []

    @property
    def busy(self):
        return len(self._jobs)

    def accepts(self, job):
        return not self._jobs

    def submit(self, job):
        self._jobs.append(job)

    def wait(self):
        job = self._jobs.pop()
        return [(job, cells.run_job(job))]

    def __exit__(self, *_):
        pass
