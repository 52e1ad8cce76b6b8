"""Which source is asked, what is believed, and what stays in the cache."""

from __future__ import annotations

import gzip
import logging
import tarfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest

from pacbound.data.cache import is_cached
from pacbound.data.fetching import accept, obtain
from pacbound.data.sources.npm import NpmPackage
from pacbound.data.sources.package import as_it_is
from pacbound.errors import PacboundError

LABELS = "train-labels-idx1-ubyte"
IMAGES = "train-images-idx3-ubyte"


def test_the_first_source_that_answers_is_enough(cache, courier, tiny_entry, tiny_files):
    silent, willing, spare = courier({}), courier(tiny_files, "willing"), courier(tiny_files)
    fetched = obtain(tiny_entry(silent, willing, spare))
    assert fetched.contents == tiny_files
    assert fetched.sources == ("willing",)
    assert len(silent.asked) == 1 and not spare.asked


def test_the_second_time_nobody_is_asked(cache, courier, tiny_entry, tiny_files):
    source = courier(tiny_files)
    entry = tiny_entry(source)
    assert not is_cached(entry)
    obtain(entry)
    assert is_cached(entry)
    assert obtain(entry).sources == ("cache",)
    assert len(source.asked) == 1
    assert sorted(p.name for p in (cache / "tiny").iterdir()) == sorted(tiny_files)


def test_a_file_with_another_hash_is_never_believed(cache, courier, tiny_entry, tiny_files):
    forged = tiny_files | {LABELS: tiny_files[LABELS][:-1] + b"\0"}
    forger, honest = courier(forged, "forger"), courier(tiny_files, "honest")
    assert obtain(tiny_entry(forger, honest)).contents == tiny_files
    assert honest.asked == [[LABELS]]  # what was genuine is not asked for again


def test_a_forger_alone_is_an_error_and_leaves_no_forged_file(
    cache, courier, tiny_entry, tiny_files
):
    forger = courier(dict.fromkeys(tiny_files, b"forged"), "forger")
    with pytest.raises(PacboundError, match="forger: its files are not the published ones"):
        obtain(tiny_entry(forger))
    assert not cache.exists()


def test_when_nobody_answers_the_error_says_who_was_asked_and_what_to_do(
    cache, courier, tiny_entry
):
    with pytest.raises(PacboundError) as refusal:
        obtain(tiny_entry(courier({}, "first"), courier({}, "second")))
    message = str(refusal.value)
    assert "first: nobody home" in message and "second: nobody home" in message
    assert str(cache) in message
    assert "pacbound data add tiny FILE" in message
    assert "\n" not in message


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:-1] + b"\7", lambda b: b""])
def test_a_damaged_cache_file_is_fetched_anew_with_a_note(
    cache, courier, tiny_entry, tiny_files, caplog, damage
):
    source = courier(tiny_files)
    entry = tiny_entry(source)
    obtain(entry)
    damaged = cache / "tiny" / IMAGES
    damaged.write_bytes(damage(damaged.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert obtain(entry).contents == tiny_files
    assert "is damaged" in caplog.text and str(damaged) in caplog.text
    assert source.asked[1:] == [[IMAGES]]
    assert damaged.read_bytes() == tiny_files[IMAGES]


def test_many_at_once_do_not_clash(cache, courier, tiny_entry, tiny_files):
    entry = tiny_entry(courier(tiny_files))
    with ThreadPoolExecutor(8) as pool:
        for fetched in pool.map(lambda _: obtain(entry), range(32)):
            assert fetched.contents == tiny_files
    assert sorted(p.name for p in (cache / "tiny").iterdir()) == sorted(tiny_files)


def test_a_cache_that_cannot_be_written_says_so(
    tmp_path, courier, tiny_entry, tiny_files, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "file"))
    with pytest.raises(PacboundError, match=r"cannot write .*; set PACBOUND_DATA"):
        obtain(tiny_entry(courier(tiny_files)))


def test_progress_is_reported(cache, courier, tiny_entry, tiny_files):
    seen = []
    obtain(tiny_entry(courier(tiny_files)), lambda *report: seen.append(report))
    assert ("asking courier", 0, None) in seen


def test_files_of_the_user_are_known_by_content(cache, tmp_path, tiny_entry, tiny_files):
    entry = tiny_entry()
    (tmp_path / "whatever.bin").write_bytes(tiny_files[IMAGES])
    (tmp_path / "other").write_bytes(gzip.compress(tiny_files[LABELS]))
    added = accept(entry, [tmp_path / "whatever.bin", tmp_path / "other"])
    assert set(added.files) == {IMAGES, LABELS}
    assert added.missing == ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    assert (cache / "tiny" / LABELS).read_bytes() == tiny_files[LABELS]


def test_the_archive_of_a_package_is_accepted(cache, tmp_path, tiny_entry, tiny_files):
    members = tuple(f"package/{name}" for name in tiny_files)
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for member, content in zip(members, tiny_files.values(), strict=True):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, BytesIO(content))
    entry = tiny_entry(NpmPackage("package@1", members, as_it_is))
    assert accept(entry, [archive]).missing == ()
    assert obtain(entry).contents == tiny_files


def test_one_unknown_file_and_nothing_is_added(cache, tmp_path, tiny_entry, tiny_files):
    (tmp_path / "good").write_bytes(tiny_files[IMAGES])
    (tmp_path / "bad").write_bytes(tiny_files[LABELS][:-1])
    with pytest.raises(PacboundError, match="bad is not a published file of 'tiny'"):
        accept(tiny_entry(), [tmp_path / "good", tmp_path / "bad"])
    assert not cache.exists()


def test_a_file_that_is_not_there_is_refused(cache, tmp_path, tiny_entry):
    with pytest.raises(PacboundError, match=r"cannot read .*missing: No such file"):
        accept(tiny_entry(), [tmp_path / "missing"])
