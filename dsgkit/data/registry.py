"""The known datasets: where they come from, what they must look like, how they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsgkit.errors import DataError
from dsgkit.hints import nearest_or_all

Label = float | str

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
UCI = "https://archive.ics.uci.edu"

CC_BY = "CC BY 4.0"
LIBSVM_TERMS = "no licence stated by LIBSVM; cite the source of the data"


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    Attributes
    ----------
    name : str
        Name under which it is published, or the path of a local file.
    part : str
        ``train``, ``test``, ``train_labels`` or ``test_labels``. Files of one part follow each
        other.
    n_rows : int or None
        Expected number of rows.
    sha256 : str or None
        Of the uncompressed content, so that it holds whatever the container.
    url : str or None
        Official address; without one the file cannot be downloaded.
    member : str or None
        Name inside ``name`` when that is a zip archive.
    aliases : tuple of str
        Other names that the content goes by.
    """

    name: str
    part: str = "train"
    n_rows: int | None = None
    sha256: str | None = None
    url: str | None = None
    member: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset: its files, its expected shape and how its labels become -1 and +1.

    Attributes
    ----------
    name, title : str
        Name in configs, and for people.
    loader : str
        ``libsvm``, ``delimited`` or ``bundled``.
    n_rows, n_features : int or None
        Expected shape of the training part; None for a file not known beforehand.
    positive : tuple or None
        Labels that become +1; None when there are two labels and the larger is positive.
    negative : tuple or None
        Labels that become -1; None for all the rest.
    folder : str
        Folder of the files below ``DSGKIT_DATA`` and the cache.
    homepage, licence, citation, note : str
        For people.
    delimiter : str or None
        Of delimited text; None takes commas when the first line has one, else white space.
    header : bool
        Whether the first line of delimited text holds names.
    label_column : int
        Column of the label in delimited text, negative from the end.
    read_bundled : callable or None
        Returns ``(X, y)`` of a bundled dataset.
    local : bool
        True for a user's own file, found by its path alone.
    """

    name: str
    title: str
    loader: str
    files: tuple[DataFile, ...]
    n_rows: int | None
    n_features: int | None
    positive: tuple[Label, ...] | None
    negative: tuple[Label, ...] | None = None
    folder: str = ""
    homepage: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    delimiter: str | None = None
    header: bool = False
    label_column: int = -1
    read_bundled: Callable[[], tuple[Any, Any]] | None = None
    local: bool = False

    @property
    def labels(self) -> str:
        """The label mapping in words."""
        if self.positive is None:
            return "the larger label is +1, the smaller -1"
        rest = "the rest" if self.negative is None else _listed(self.negative)
        return f"{_listed(self.positive)} is +1, {rest} -1"


def _listed(labels: tuple[Label, ...]) -> str:
    return " or ".join(x if isinstance(x, str) else f"{x:g}" for x in labels)


def get(name: str) -> DatasetInfo:
    """Return the registered dataset of that name.

    Raises
    ------
    DataError
        For an unknown name, with the nearest known one.
    """
    if name in DATASETS:
        return DATASETS[name]
    raise DataError(f"unknown dataset {name!r}{nearest_or_all(name, sorted(DATASETS))}")


def _digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return X, digit % 2 == 0


def _breast_cancer() -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    return X, benign == 0


_SUSY_HIGGS = (
    "Baldi, Sadowski & Whiteson, Searching for exotic particles in high-energy physics with deep "
    "learning, Nature Communications 5, 2014"
)
_COVTYPE = (
    "Blackard & Dean, Comparative accuracies of artificial neural networks and discriminant "
    "analysis in predicting forest cover types, Computers and Electronics in Agriculture 24, 1999"
)
_PUF_ZIP = "physical+unclonable+functions.zip"
_PUF_URL = f"{UCI}/static/public/463/{_PUF_ZIP}"
_WEB = (
    "Platt, Fast training of support vector machines using sequential minimal optimization, in: "
    "Advances in Kernel Methods, MIT Press, 1999"
)
_DOTA_ZIP = "dota2+games+results.zip"
_DOTA_URL = f"{UCI}/static/public/367/{_DOTA_ZIP}"

_PAPER = (
    DatasetInfo(
        name="codrna",
        title="cod-rna",
        loader="libsvm",
        files=(
            DataFile(
                "cod-rna",
                n_rows=59_535,
                sha256="65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c",
                url=f"{LIBSVM}/cod-rna",
                aliases=("cod-rna.txt", "codrna"),
            ),
            DataFile(
                "cod-rna.t",
                "test",
                n_rows=271_617,
                url=f"{LIBSVM}/cod-rna.t",
                aliases=("codrna.t",),
            ),
        ),
        n_rows=59_535,
        n_features=8,
        positive=(1,),
        negative=(-1,),
        folder="cod-rna",
        homepage=f"{LIBSVM}.html#cod-rna",
        licence=LIBSVM_TERMS,
        citation="Uzilov, Keegan & Mathews, Detection of non-coding RNAs on the basis of predicted "
        "secondary structure formation free energy change, BMC Bioinformatics 7:173, 2006",
    ),
    DatasetInfo(
        name="ijcnn1",
        title="ijcnn1",
        loader="libsvm",
        files=(
            DataFile(
                "ijcnn1.bz2",
                n_rows=49_990,
                sha256="16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f",
                url=f"{LIBSVM}/ijcnn1.bz2",
            ),
            DataFile(
                "ijcnn1.t.bz2",
                "test",
                n_rows=91_701,
                sha256="e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                url=f"{LIBSVM}/ijcnn1.t.bz2",
            ),
        ),
        n_rows=49_990,
        n_features=22,
        positive=(1,),
        negative=(-1,),
        folder="ijcnn1",
        homepage=f"{LIBSVM}.html#ijcnn1",
        licence=LIBSVM_TERMS,
        citation="Prokhorov, IJCNN 2001 neural network competition",
    ),
    DatasetInfo(
        name="susy",
        title="SUSY",
        loader="libsvm",
        files=(DataFile("SUSY.xz", n_rows=5_000_000, url=f"{LIBSVM}/SUSY.xz"),),
        n_rows=5_000_000,
        n_features=18,
        positive=(1,),
        negative=(0,),
        folder="susy",
        homepage=f"{LIBSVM}.html#SUSY",
        licence=CC_BY,
        citation=_SUSY_HIGGS,
    ),
    DatasetInfo(
        name="covtype",
        title="Covtype (class 2 against the rest)",
        loader="libsvm",
        files=(
            DataFile(
                "covtype.libsvm.binary.bz2",
                n_rows=581_012,
                url=f"{LIBSVM}/covtype.libsvm.binary.bz2",
            ),
        ),
        n_rows=581_012,
        n_features=54,
        positive=(2,),
        negative=(1,),
        folder="covtype",
        homepage=f"{LIBSVM}.html#covtype.binary",
        licence=CC_BY,
        citation=_COVTYPE,
    ),
    DatasetInfo(
        name="higgs",
        title="HIGGS",
        loader="libsvm",
        files=(DataFile("HIGGS.xz", n_rows=11_000_000, url=f"{LIBSVM}/HIGGS.xz"),),
        n_rows=11_000_000,
        n_features=28,
        positive=(1,),
        negative=(0,),
        folder="higgs",
        homepage=f"{LIBSVM}.html#HIGGS",
        licence=CC_BY,
        citation=_SUSY_HIGGS,
        note="the paper used 1,100,000 of the 11,000,000 rows and does not say which",
    ),
    DatasetInfo(
        name="hepmass",
        title="HEPMASS (signal against background)",
        loader="delimited",
        files=(
            DataFile(
                "all_train.csv.gz",
                n_rows=7_000_000,
                url=f"{UCI}/ml/machine-learning-databases/00347/all_train.csv.gz",
            ),
            DataFile(
                "all_test.csv.gz",
                n_rows=3_500_000,
                url=f"{UCI}/ml/machine-learning-databases/00347/all_test.csv.gz",
            ),
        ),
        n_rows=10_500_000,
        n_features=28,
        positive=(1,),
        negative=(0,),
        folder="hepmass",
        homepage=f"{UCI}/dataset/347/hepmass",
        licence=CC_BY,
        citation="Baldi et al., Parameterized neural networks for high-energy physics, European "
        "Physical Journal C 76, 2016",
        note="both published parts together, as the papers count the rows",
        delimiter=",",
        header=True,
        label_column=0,
    ),
    DatasetInfo(
        name="w6a",
        title="w6a (training and test file together)",
        loader="libsvm",
        files=(
            DataFile("w6a", n_rows=17_188, url=f"{LIBSVM}/w6a"),
            DataFile("w6a.t", n_rows=32_561, url=f"{LIBSVM}/w6a.t"),
        ),
        n_rows=49_749,
        n_features=300,
        positive=(1,),
        negative=(-1,),
        folder="w6a",
        homepage=f"{LIBSVM}.html#w6a",
        licence=LIBSVM_TERMS,
        citation=_WEB,
        note="both published parts together, as the papers count the rows",
    ),
    DatasetInfo(
        name="w8a",
        title="w8a (the rows of w6a and of its test file)",
        loader="libsvm",
        files=(
            DataFile(
                "w8a",
                n_rows=49_749,
                sha256="6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
                url=f"{LIBSVM}/w8a",
            ),
        ),
        n_rows=49_749,
        n_features=300,
        positive=(1,),
        negative=(-1,),
        folder="w8a",
        homepage=f"{LIBSVM}.html#w8a",
        licence=LIBSVM_TERMS,
        citation=_WEB,
    ),
    DatasetInfo(
        name="skin",
        title="Skin segmentation (skin against non-skin)",
        loader="delimited",
        files=(
            DataFile(
                "Skin_NonSkin.txt",
                n_rows=245_057,
                url=f"{UCI}/ml/machine-learning-databases/00229/Skin_NonSkin.txt",
            ),
        ),
        n_rows=245_057,
        n_features=3,
        positive=(1,),
        negative=(2,),
        folder="skin_nonskin",
        homepage=f"{UCI}/dataset/229/skin+segmentation",
        licence=CC_BY,
        citation="Bhatt & Dhall, Skin Segmentation, UCI Machine Learning Repository, 2012",
        note="no checksum: copies differ in their line ends",
        delimiter="\t",
    ),
    DatasetInfo(
        name="dota2",
        title="Dota2 games results",
        loader="delimited",
        files=(
            DataFile(
                _DOTA_ZIP,
                n_rows=92_650,
                sha256="16823bf0ad99b4931e94809268807ef398edb7b1288b12b384aeddbee3d9ebda",
                url=_DOTA_URL,
                member="dota2Train.csv",
            ),
            DataFile(
                _DOTA_ZIP,
                "test",
                n_rows=10_294,
                sha256="bcc9ce564421db7340b1464dedd2691bb18af06613726ff72d142ffc2ee2aff9",
                url=_DOTA_URL,
                member="dota2Test.csv",
            ),
        ),
        n_rows=92_650,
        n_features=116,
        positive=(1,),
        negative=(-1,),
        folder="dota2",
        homepage=f"{UCI}/dataset/367/dota2+games+results",
        licence=CC_BY,
        citation="Tridgell, Dota2 Games Results, UCI Machine Learning Repository, 2016",
        delimiter=",",
        label_column=0,
    ),
    DatasetInfo(
        name="unclonable",
        title="Physical unclonable functions (5-XOR arbiter, 128 bits)",
        loader="delimited",
        files=(
            DataFile(
                _PUF_ZIP,
                n_rows=5_000_000,
                url=_PUF_URL,
                member="train_5xor_128dim.csv",
                aliases=("XOR_Arbiter_PUFs.zip",),
            ),
            DataFile(
                _PUF_ZIP,
                n_rows=1_000_000,
                url=_PUF_URL,
                member="test_5xor_128dim.csv",
                aliases=("XOR_Arbiter_PUFs.zip",),
            ),
        ),
        n_rows=6_000_000,
        n_features=128,
        positive=(1,),
        negative=(-1, 0),
        folder="unclonable",
        homepage=f"{UCI}/dataset/463/physical+unclonable+functions",
        licence=CC_BY,
        citation="Aseeri, Zhuang & Alkatheiri, A machine learning-based security vulnerability "
        "study on XOR PUFs for resource-constraint internet of things, IEEE ICIOT 2018",
        note="the published training and test rows together, as the paper's 6,000,000; its 129 "
        "features count the label column",
        delimiter=",",
    ),
)

_SAMPLES = (
    DatasetInfo(
        name="covtype_20k",
        title="Covtype, first 20,000 rows (class 2 against the rest)",
        loader="delimited",
        files=(
            DataFile(
                "covtype.20k.data",
                n_rows=20_000,
                sha256="55ff5c8510624a2fe57838017f96caf86914223f131572edd35a038f3e85e43e",
            ),
        ),
        n_rows=20_000,
        n_features=54,
        positive=(2,),
        negative=(1, 3, 4, 5, 6, 7),
        folder="covtype",
        homepage=f"{UCI}/dataset/31/covertype",
        licence=CC_BY,
        citation=_COVTYPE,
        note="a sample, not Covtype: the first rows of covtype.data, whose classes are far more "
        "balanced than the whole (the first 15,120 rows hold 2,160 of each class)",
        delimiter=",",
    ),
    DatasetInfo(
        name="susy_10k",
        title="SUSY, a standardised sample of 10,000 rows",
        loader="delimited",
        files=(
            DataFile(
                "susy_10Kn_train.csv",
                n_rows=10_000,
                sha256="36a739c633899c3831c11f2fa9a7b08aee6f516b28cc37b0d30a8566878635f5",
            ),
            DataFile(
                "susy_10Kn_train_label.csv",
                "train_labels",
                n_rows=10_000,
                sha256="a40bde8964327b0185e8d0a380a4863c0b32c6759e1d9c3ef081bb3e7a7f147b",
            ),
            DataFile(
                "susy_10Kn_test.csv",
                "test",
                n_rows=1_000,
                sha256="8f1315ced21656fccecf0dcb48239dd9c206504c93a983f2d8c9cb2c7f3df4f6",
            ),
            DataFile(
                "susy_10Kn_test_label.csv",
                "test_labels",
                n_rows=1_000,
                sha256="f9706228ee00c5326382ce9d7b5f9d5dd6f3ba05cb6419b064d980af11a1fb35",
            ),
        ),
        n_rows=10_000,
        n_features=8,
        positive=(1,),
        negative=(-1,),
        folder="susy",
        homepage="https://github.com/pghysels/STRUMPACK",
        licence=CC_BY,
        citation=_SUSY_HIGGS,
        note="a sample, not SUSY: 10,000 + 1,000 rows, the 8 low-level features alone, "
        "standardised (STRUMPACK, examples/dense/data)",
        delimiter=",",
    ),
    DatasetInfo(
        name="higgs_11k",
        title="HIGGS, a sample of 10,984 rows",
        loader="delimited",
        files=(
            DataFile(
                "higgs_sas_sample.csv",
                n_rows=10_984,
                sha256="21f8b95e4aaed9e631a76d69c724bb0ca94456bc1ac01e18fd81b968dd3c9724",
            ),
        ),
        n_rows=10_984,
        n_features=28,
        positive=(1,),
        negative=(0,),
        folder="higgs",
        homepage="https://github.com/sassoftware/sas-viya-workbench-examples",
        licence=CC_BY,
        citation=_SUSY_HIGGS,
        note="a sample, not HIGGS: how its rows were chosen is not stated (data/higgs.csv there)",
        delimiter=",",
        header=True,
    ),
    DatasetInfo(
        name="higgs_7k",
        title="HIGGS, 7,000 rounded rows",
        loader="delimited",
        files=(
            DataFile(
                "higgs_lightgbm_binary.train",
                n_rows=7_000,
                sha256="41c42dc14f86960256bf872fc8ae6286c688b44f43b4057b29428787fc1e0444",
                aliases=("binary.train",),
            ),
            DataFile(
                "higgs_lightgbm_binary.test",
                "test",
                n_rows=500,
                sha256="d99ebec91acd99638f00c727c251c947a1d17ddfcbea27bfef6b0dc5e5fb1db3",
                aliases=("binary.test",),
            ),
        ),
        n_rows=7_000,
        n_features=28,
        positive=(1,),
        negative=(0,),
        folder="higgs",
        homepage="https://github.com/microsoft/LightGBM",
        licence=CC_BY,
        citation=_SUSY_HIGGS,
        note="a sample, not HIGGS: 7,000 + 500 rows rounded to three decimals (LightGBM, "
        "examples/binary_classification)",
        delimiter="\t",
        label_column=0,
    ),
)

_BUNDLED = (
    DatasetInfo(
        name="digits",
        title="Handwritten digits of 8x8 pixels (even against odd)",
        loader="bundled",
        files=(),
        n_rows=1_797,
        n_features=64,
        positive=("even",),
        negative=("odd",),
        homepage=f"{UCI}/dataset/80/optical+recognition+of+handwritten+digits",
        licence=CC_BY,
        citation="Alpaydin & Kaynak, Optical Recognition of Handwritten Digits, UCI Machine "
        "Learning Repository, 1998",
        note="ships with scikit-learn: the test part of the UCI dataset",
        read_bundled=_digits,
    ),
    DatasetInfo(
        name="breast_cancer",
        title="Breast cancer Wisconsin, diagnostic (malignant against benign)",
        loader="bundled",
        files=(),
        n_rows=569,
        n_features=30,
        positive=("malignant",),
        negative=("benign",),
        homepage=f"{UCI}/dataset/17/breast+cancer+wisconsin+diagnostic",
        licence=CC_BY,
        citation="Wolberg, Mangasarian, Street & Street, Breast Cancer Wisconsin (Diagnostic), UCI "
        "Machine Learning Repository, 1995",
        note="ships with scikit-learn",
        read_bundled=_breast_cancer,
    ),
)

DATASETS: dict[str, DatasetInfo] = {d.name: d for d in (*_PAPER, *_SAMPLES, *_BUNDLED)}
"""All registered datasets by name."""
