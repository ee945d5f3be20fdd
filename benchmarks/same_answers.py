"""This checkout next to an older commit: the same answers to the same problems, value by value.

Problems are seeded: models of every form in random spaces, several over one domain and in turns (those of
tests/support), linear models over real features, wide and large models, circuits in every file format, and, where the
shared folder is there, other tools' references and the paper's data. Each commit answers all of them in its own
process. Outputs, CXps, weights, AXps, scores, interactions, distances of counterfactuals, precisions, documents and the
class of an error must be equal; circuits may be smaller, but not larger.

    python benchmarks/same_answers.py --against cbf8746
    python benchmarks/same_answers.py --against cbf8746 --problems 10000
    python benchmarks/same_answers.py --against cbf8746 --only scene:17     # one problem, with both answers

The problems are always those of this checkout. What has another name in the older commit stands in RENAMED (modules,
names in them, attributes of classes) and RENAMED_KEYS (documents): a step that renames adds its row. What a commit
changes on purpose stands in ON_PURPOSE, with the reason. Exits with 1 if anything else differs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CHECKOUTS = ROOT / ".same"  # older commits stay there, with what numba compiled for them
QUESTION_SEED = "questions"
MOST_AXPS = 300  # CXps, above which AXps are not listed

RENAMED: dict[str, str] = {}
"""``{name here: name in the older commit}``, as ``package.module``, ``package.module:name`` or with ``:Class.name``."""
RENAMED_KEYS: dict[str, str] = {}
"""``{key of a document in the older commit: key here}``."""
ON_PURPOSE: tuple[tuple[str, str], ...] = (
    (
        r"^stored:circuit \d+ /\.cnf: error: ModelFileError before",
        "the .cnf of save_circuit is read",
    ),
    (r"/precision .*: error: DomainError before, 1 now", "what stays cancels in blocks where nothing changes"),
)
"""What may differ: a regular expression for ``problem path``, and why."""

Answer = Any
Task = Callable[[], Answer]


class _Older(MetaPathFinder, Loader):
    """Makes modules of today's names out of those that the older commit has."""

    def __init__(self) -> None:
        self._modules: dict[str, dict[str, str]] = {}
        for new, old in RENAMED.items():
            module, _, name = new.partition(":")
            self._modules.setdefault(module, {})[name] = old

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if "" in self._modules.get(fullname, {}) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(self._modules[spec.name][""])

    def exec_module(self, module: ModuleType) -> None:
        pass

    def name_all(self) -> None:
        """Give functions, classes and attributes today's names as well."""
        for module, names in self._modules.items():
            for name, old in names.items():
                if name:
                    *way, last = name.split(".")
                    home: Any = importlib.import_module(module)
                    for part in way:
                        home = getattr(home, part)
                    setattr(home, last, _found(old))


def _found(name: str) -> Any:
    """Return what ``package.module:Class.name`` names."""
    module, _, way = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in way.split("."):
        found = getattr(found, part)
    return found


def plain(thing: Any) -> Any:
    """Return a result as JSON holds it, exactly: fractions as text, sets sorted."""
    if isinstance(thing, Fraction):
        return str(thing)
    if isinstance(thing, float):
        return thing.hex()
    if isinstance(thing, dict):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [plain(part) for part in thing]
    if isinstance(thing, (set, frozenset)):
        return sorted(map(plain, thing), key=str)
    return thing if isinstance(thing, (bool, int, str, type(None))) else str(thing)


def answered(task: Task) -> Answer:
    """Return an answer as JSON holds it, or the class of an error."""
    try:
        return plain(task())
    except Exception as error:  # one commit's crash is a difference like any other
        return f"error: {type(error).__name__}"


def questions(e: Any, rng: Random) -> dict[str, Task]:
    """Return the questions to an explanation: always the same for the same state of `rng`."""
    names = e.domain.names
    given = [name for name in names if rng.random() < 0.5]
    kind, index = rng.choice(SCORES), rng.choice(INTERACTIONS)
    asked: dict[str, Task] = {
        "prediction": lambda: e.prediction,
        "cxps": lambda: sorted((sorted(c.features), c.weight) for c in e.cxps),
        "shapley": lambda: e.scores("shapley"),
        "banzhaf": lambda: e.scores("banzhaf"),
        "relevant": lambda: sorted(e.relevant),
        f"precision {given}": lambda: e.precision(given),
        "distance": lambda: e.counterfactual().distance,
        "circuit": lambda: _measured(e.circuit()),
        "document": lambda: json.loads(e.to_json()),
    }
    if e.cxp_count <= MOST_AXPS:
        asked[f"score {kind}"] = lambda: e.scores(kind)
        asked["axps"] = lambda: sorted(sorted(a.features) for a in e.axps)
        asked[f"interactions {index}"] = lambda: sorted((sorted(k), v) for k, v in e.interactions(index).items())
    return asked


SCORES = (
    "ffa",
    "wffa",
    "responsibility",
    "deegan_packel",
    "holler_packel",
    "shapley_shubik",
    "banzhaf_waxp",
    "ffa_cxp",
)
INTERACTIONS = ("shapley", "banzhaf", "moebius")


def _measured(examples: Any) -> dict[str, Any]:
    circuit = examples.circuit
    return {"size": [circuit.size.nodes, circuit.size.edges]}


def explained(explainer: Any, row: Any, seed: str, only: tuple[str, ...] = ()) -> Answer:
    """Explain a row and ask everything about it, each question for itself."""
    try:
        e = explainer.explain(row)
    except Exception as error:
        return f"error: {type(error).__name__}"
    asked = questions(e, Random(seed))
    return {name: answered(task) for name, task in asked.items() if not only or name in only}


# Groups of problems: each gives names with what they ask, in an order of its own.


def scenes(first: int, number: int) -> Iterator[tuple[str, Task]]:
    """Models of any form that share a space: constraints, distributions, regions and missing values, in turns."""
    from tests.support.crossed_problems import random_scenes
    from tests.support.random_problems import KINDS

    for seed in range(first, first + number):

        def task(seed: int = seed) -> Answer:
            rng = Random(f"same {seed}")
            shared = random_scenes(rng, KINDS[seed % len(KINDS)], n_models=rng.randint(2, 3), n_instances=2)
            return [_of_scene(s, rng, f"{seed}") for s in (*shared, *reversed(shared))]

        yield f"scene:{seed}", task


def _of_scene(scene: Any, rng: Random, seed: str) -> Answer:
    import axfi_kc as ax

    truth, targets = scene.truth, ("auto", "auto", "mdd", "obdd", "sdd", "ddnnf")
    options = {
        "delta": truth.delta,
        "toward": truth.toward,
        "within": scene.region,
        "target": rng.choice(targets),
        "weights": rng.choice(("ratio", "ratio", "unit", "count")),
        "max_size": rng.choice((None, None, 2)),
    }
    rows = [scene.row(v) for v in truth.instances]

    def ask() -> Answer:
        explainer = ax.Explainer(truth.model, scene.domain, **options)
        found = [explained(explainer, row, f"{QUESTION_SEED} {seed} {k}") for k, row in enumerate(rows)]
        return {"options": options["target"], "rows": found, "batch": answered(lambda: _batch(explainer, rows))}

    found = answered(ask) if scene.outputs else None
    return {"model": found, "sizes": answered(lambda: _compiled(truth, rng.choice(targets[2:])))}


def _batch(explainer: Any, rows: list[Any]) -> Answer:
    batch = explainer.explain_batch(rows, progress=False)
    return {"shares": batch.score_fractions("banzhaf").tolist(), "counts": list(batch.cxp_counts)}


def _compiled(truth: Any, target: str) -> Answer:
    import axfi_kc as ax

    output = truth.outputs[0]
    made = ax.compile_model(truth.model, truth.domain, output=output, delta=truth.delta, target=target)
    size = [made.size.nodes, made.size.edges]
    return {"target": target, "probability": made.probability(), "size": size}


def planes(first: int, number: int) -> Iterator[tuple[str, Task]]:
    """Linear models over real features, in turn without and with constraints."""
    import axfi_kc as ax
    from tests.support.constrained_judge import random_judge
    from tests.support.random_problems import random_plane

    for seed in range(first, first + number):

        def task(seed: int = seed) -> Answer:
            rng = Random(f"plane {seed}")
            if seed % 2:
                judge = random_judge(rng)
                model, v, delta = judge.model, judge.v, judge.delta
                domain = judge.domain
            else:
                model, v, delta = random_plane(rng)
                domain = model.domain
            explainer = ax.Explainer(model, domain, delta=delta, weights=rng.choice(("ratio", "ratio", "unit")))
            return explained(explainer, dict(zip(domain.names, v, strict=True)), f"{QUESTION_SEED} {seed}")

        yield f"plane:{seed}", task


def trained() -> Iterator[tuple[str, Task]]:
    """One small model of every kind of every library, missing values, pipelines and wrappers included."""
    import axfi_kc as ax
    from tests.support import more_kinds

    for name in more_kinds.NAMES:

        def task(name: str = name) -> Answer:
            kind = more_kinds.kind(name)
            explainer = ax.Explainer(kind.model, kind.domain, delta=kind.delta)
            return [explained(explainer, row, f"{QUESTION_SEED} {name}") for row in kind.rows[:3]]

        yield f"trained:{name}", task


def stored() -> Iterator[tuple[str, Task]]:
    """Files that versions of XGBoost and LightGBM wrote, and random circuits in every format that is written."""
    from tests.compilers.test_files_by_version import CASES, _read

    for name, case in CASES.items():
        yield f"stored:{name}", lambda case=case: _read(case).scores_at(case["rows"])
    for seed in range(24):
        yield f"stored:circuit {seed}", lambda seed=seed: _in_every_format(Random(f"format {seed}"))


def _in_every_format(rng: Random) -> Answer:
    import axfi_kc as ax
    from axfi_kc.circuits.files import FORMATS
    from axfi_kc.circuits.queries import count, probability
    from tests.support.format_cases import random_circuit, random_domain

    domain = random_domain(rng)
    circuit = random_circuit(rng, domain)
    found: dict[str, Answer] = {"count": count(circuit), "probability": probability(circuit)}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in sorted(FORMATS):

            def again(path: Path = Path(folder, f"circuit{suffix}")) -> Answer:
                ax.save_circuit(circuit, path)
                read = ax.load_circuit(path, domain)
                return {"count": count(read), "probability": probability(read)}

            found[suffix] = answered(again)
    return found


def large() -> Iterator[tuple[str, Task]]:
    """Models as people have them: real tables, many features, too many CXps to list."""
    from tests.support.gadgets import gadget_tree

    yield "large:gadgets", lambda: _rows_of(gadget_tree(14), None, [[1] * 42], ("prediction", "shapley", "relevant"))
    for name, (data, make, options) in _LARGE.items():
        yield f"large:{name}", lambda data=data, make=make, options=options: _of_table(data, make, options)


def _of_table(data: str, make: str, options: dict[str, Any]) -> Answer:
    import sklearn.datasets

    import axfi_kc as ax

    X, y = getattr(sklearn.datasets, f"load_{data}")(as_frame=True, return_X_y=True)
    module, _, name = make.rpartition(".")
    model = getattr(importlib.import_module(module), name)(**options.get("model", {})).fit(X, y)
    rows = [X.iloc[k] for k in range(0, len(X), len(X) // 4)][:4]
    asked = {key: value for key, value in options.items() if key != "model"}
    return _rows_of(model, ax.Domain.from_data(X), rows, ("prediction", "cxps", "shapley", "distance"), **asked)


def _rows_of(model: Any, domain: Any, rows: Any, only: tuple[str, ...], **options: Any) -> Answer:
    import axfi_kc as ax

    explainer = ax.Explainer(model, domain or model.domain, **options)
    return [explained(explainer, row, QUESTION_SEED, only) for row in rows]


_FEW_TREES = {"model": {"n_estimators": 20, "max_depth": 3, "random_state": 0, "n_jobs": 1}}
_LARGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree": ("breast_cancer", "sklearn.tree.DecisionTreeClassifier", {"model": {"max_depth": 8, "random_state": 0}}),
    "xgboost": ("wine", "xgboost.XGBClassifier", _FEW_TREES),
    "xgboost, toward": ("wine", "xgboost.XGBClassifier", {**_FEW_TREES, "toward": 1}),
    "forest": ("wine", "sklearn.ensemble.RandomForestClassifier", {**_FEW_TREES, "max_size": 3}),
    "logistic": ("wine", "sklearn.linear_model.LogisticRegression", {"model": {"max_iter": 9_000}, "max_size": 4}),
    "ridge": ("diabetes", "sklearn.linear_model.Ridge", {"delta": 50}),
}


def shared() -> Iterator[tuple[str, Task]]:
    """What the shared folder has, where it is: other tools' references and the paper's data."""
    from tests.support.reference_models import BOOSTED, boosted_reference
    from tests.support.shared_data import SHARED, TREE_SETS

    for name in BOOSTED if (SHARED / "refs").exists() else ():

        def task(name: str = name) -> Answer:
            reference = boosted_reference(name)
            rows = [reference.point(instance) for instance in reference.instances[:3]]
            return _rows_of(reference.model, reference.domain, rows, ("prediction", "cxps", "shapley", "document"))

        yield f"reference:{name}", task
    for name in TREE_SETS if (SHARED / "data").exists() else ():
        yield f"paper:{name}", lambda name=name: _of_paper(name)


def _of_paper(name: str) -> Answer:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    import axfi_kc as ax
    from tests.support.shared_data import tree_set

    data = tree_set(name)
    make = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
    model = make(max_depth=7, random_state=0).fit(data.X, data.y)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    rows = [data.X.iloc[k] for k in range(0, len(data.X), len(data.X) // 3)][:3]
    return _rows_of(model, domain, rows, ("prediction", "cxps", "axps", "shapley", "document"), delta=data.delta)


def problems(number: int) -> Iterator[tuple[str, Task]]:
    """Return so many problems: the fixed ones first, and random ones for the rest."""
    fixed = [*stored(), *large(), *shared(), *trained()]
    yield from fixed
    rest = max(number - len(fixed), number // 2)
    yield from scenes(0, rest - rest // 5)
    yield from planes(0, rest // 5)


# The two commits side by side.


def answer_all(number: int, only: str | None) -> None:
    """Print a line for each problem: its name and its answer."""
    older = _Older()
    sys.meta_path.insert(0, older)
    if os.environ.get("AXFI_OLDER"):
        older.name_all()
    for name, task in problems(number):
        if only in (None, name):
            np.random.seed(0)  # models that are trained without a random_state are the same in both
            print(json.dumps([name, answered(task)]), flush=True)


def renamed(answer: Answer) -> Answer:
    """Return an answer of the older commit with the keys that documents have here."""
    if isinstance(answer, dict):
        return {RENAMED_KEYS.get(key, key): renamed(value) for key, value in answer.items()}
    return [renamed(value) for value in answer] if isinstance(answer, list) else answer


def differences(before: Answer, now: Answer, path: str = "") -> Iterator[str]:
    """Iterate over the places where two answers differ, each as a path with both values."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            if key == "size" and key in before and key in now and _is_not_larger(now[key], before[key]):
                continue
            yield from differences(before.get(key, "absent"), now.get(key, "absent"), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from differences(a, b, f"{path}/{k}")
    elif before != now:
        yield f"{path}: {str(before)[:160]} before, {str(now)[:160]} now"


def _is_not_larger(now: Answer, before: Answer) -> bool:
    return isinstance(now, list) and all(a <= b for a, b in zip(now, before, strict=True))


def unpacked(commit: str) -> Path:
    """Return the folder of an older commit's library, which stays, with its compiled kernels."""
    full = subprocess.run(
        ["git", "rev-parse", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folder = CHECKOUTS / full.stdout.strip()
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=ROOT) as temporary:
            archive = Path(temporary) / "older.tar"
            subprocess.run(["git", "archive", "-o", archive, commit, "axfi_kc", "compilers"], cwd=ROOT, check=True)
            with tarfile.open(archive) as tar:
                tar.extractall(Path(temporary) / "library", filter="data")
            CHECKOUTS.mkdir(exist_ok=True)
            os.replace(Path(temporary) / "library", folder)
    return folder


def child(library: Path, number: int, only: str | None) -> subprocess.Popen[str]:
    """Start this script with the library of one commit."""
    command = [sys.executable, __file__, "--answer", "--problems", str(number), *(["--only", only] if only else [])]
    environment = {**os.environ, "PYTHONPATH": f"{library}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    environment |= {"AXFI_OLDER": "" if library == ROOT else "1", "PYTHONHASHSEED": "0"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def compare(commit: str, number: int, only: str | None) -> int:
    """Print what differs, and return how many problems differ other than on purpose."""
    pair = [child(library, number, only) for library in (unpacked(commit), ROOT)]
    total, wrong, meant = 0, 0, Counter[str]()
    for first, second in zip(*(process.stdout or () for process in pair), strict=True):
        (name, before), (other, now) = json.loads(first), json.loads(second)
        if name != other:
            raise SystemExit(f"the problems went out of step: {name} before, {other} now")
        found = list(differences(renamed(before), now))
        reasons = [next((why for pattern, why in ON_PURPOSE if re.search(pattern, f"{name} {d}")), None) for d in found]
        meant.update({why for why in reasons if why})
        accidents = [d for d, why in zip(found, reasons, strict=True) if why is None]
        total, wrong = total + 1, wrong + bool(accidents)
        if accidents:
            print(f"{name} differs in {len(accidents)} places, among them {accidents[0]}", flush=True)
        if only:
            print(json.dumps({"before": before, "now": now}, indent=1))
    if any(process.wait() for process in pair):
        raise SystemExit("one of the two ended with an error, which is printed above")
    for why, times in meant.items():
        print(f"on purpose, in {times}: {why}")
    print(f"{total - wrong} of {total} problems have the same answers at {commit} and here")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="the older commit")
    parser.add_argument("--problems", type=int, default=300, help="about how many [%(default)s]")
    parser.add_argument("--only", metavar="NAME", help="one problem, with both answers")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_all(options.problems, options.only)
        return 0
    if options.against is None:
        parser.error("name the older commit with --against")
    return 1 if compare(options.against, options.problems, options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
