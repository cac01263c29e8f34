"""What a model card says: what, scores, data, settings, limits, how to load it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from etairl.demos import Demos
from etairl.evaluation.floors import is_hint
from etairl.markup import markdown_code, markdown_table, markdown_text, yaml_lines
from etairl.training.behaviour import titled
from etairl.training.config_files import trust_option
from etairl.training.preset_changes import preset_changes
from etairl.training.settings import TrainConfig

_TAGS = ("reinforcement-learning", "imitation-learning", "inverse-reinforcement-learning", "etairl")
_TOLD_APART = 0.05


@dataclass(frozen=True)
class CardFacts:
    """Everything that a card tells."""

    name: str
    config: TrainConfig
    """with nothing of the machine in it"""
    result: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    """policies in fresh episodes, the learner's first"""
    versions: Mapping[str, str]
    demos: Demos
    source: str
    """the name of the demonstrations"""
    origin: str
    """where whoever loads the folder has them from"""
    license: str | None = None


def card_text(facts: CardFacts) -> str:
    """The card: front matter that a hub reads, then Markdown."""
    sections = [_what(facts), _scores(facts), _data(facts), _settings(facts)]
    sections += [_limits(facts), _loading(facts), _versions(facts)]
    head = "\n".join(["---", *yaml_lines(front_matter(facts)), "---"])
    return "\n\n".join([head, f"# {markdown_text(facts.name)}", *sections]) + "\n"


def front_matter(facts: CardFacts) -> dict[str, Any]:
    """What a hub reads: tags, and results by environment and metric."""
    config = facts.config
    head: dict[str, Any] = {} if facts.license is None else {"license": facts.license}
    head |= {
        "library_name": "etairl",
        "pipeline_tag": "reinforcement-learning",
        "tags": [*_TAGS, config.env, config.algorithm],
    }
    metrics = _metrics(facts.rows)
    if not metrics:
        return head
    task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
    result = {
        "task": task,
        "dataset": {"name": config.env, "type": config.env},
        "metrics": metrics,
    }
    return head | {"model-index": [{"name": facts.name, "results": [result]}]}


def _metrics(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of the learner, acting as the demonstrations do."""
    if not rows:
        return []
    row, metrics = rows[0], []
    if row["return_mean"] is not None:
        reward = f"{row['return_mean']:.2f} +/- {row['return_std']:.2f}"
        metrics.append({"type": "mean_reward", "name": "mean_reward", "value": reward})
    if row["score"] is not None:
        name = "score (0 random, 1 expert)"
        metrics.append({"type": "score", "name": name, "value": round(row["score"], 4)})
    for kind, symbol in (("rho", "ρ"), ("mu", "μ")):
        value = round(row[f"mmd2_{kind}"]["value"], 6)
        metrics.append({"type": f"mmd2_{kind}", "name": f"MMD² of {symbol}", "value": value})
    return [{**metric, "verified": False} for metric in metrics]


def _what(facts: CardFacts) -> str:
    config, result = facts.config, facts.result
    return (
        f"A policy for {markdown_code(config.env)} and the cost that explains it, learned from "
        f"demonstrations with `etairl`: {markdown_text(config.algorithm.upper())} with the "
        f"weighting η = {markdown_code(config.eta)}, {result['transitions']:,} transitions, seed "
        f"{config.seed}."
    )


def _scores(facts: CardFacts) -> str:
    last = facts.result["remaining"]
    if not facts.rows:
        text = (
            f"The last {last['cycles']} cycles of training: return {last['return']:.1f} ± "
            f"{last['return_std']:.1f}, {_distance('MMD² of μ', last['mmd2_mu'])}."
        )
        return f"## Scores\n\n{text}"
    shown = [
        [
            titled(row["name"], row.get("playing")),
            row["episodes"],
            _return(row),
            "" if row["score"] is None else f"{row['score']:.3f}",
            _bounds(row["mmd2_rho"]),
            _bounds(row["mmd2_mu"]),
            _floor(row["mmd2_mu"]),
        ]
        for row in facts.rows
    ]
    columns = ("policy", "episodes", "return", "score", "MMD² of ρ", "MMD² of μ", "floor of μ")
    beside = dict.fromkeys(row["beside"] for row in facts.rows if row.get("beside"))
    compared = f" MMD² is from {markdown_text(' and '.join(beside))}." if beside else ""
    return (
        f"## Scores\n\nFresh episodes, with 95 % intervals over them.{compared} A score of 0 is a "
        "random policy, 1 the expert. Floor: 95 % of comparisons of the expert with itself are "
        f"below.\n\n{markdown_table(columns, shown)}"
    )


def _return(row: Mapping[str, Any]) -> str:
    mean, many = row["return_mean"], row["episodes"]
    if mean is None:
        return ""
    if row["return_std"] is None or many < 2:
        return f"{mean:.1f}"
    half = float(stats.t.ppf(0.975, many - 1)) * row["return_std"] / (many - 1) ** 0.5
    return f"{mean:.1f} [{mean - half:.1f}, {mean + half:.1f}]"


def _bounds(d: Mapping[str, Any]) -> str:
    if d.get("low") is None:
        return f"{d['value']:.4f}"
    return f"{d['value']:.4f} [{d['low']:.4f}, {d['high']:.4f}]"


def _floor(d: Mapping[str, Any]) -> str:
    if d["floor"] is None:
        return ""
    return f"{d['floor']:.4f}{' (a hint)' if is_hint(d.get('floor_by')) else ''}"


def _distance(name: str, d: Mapping[str, Any]) -> str:
    return f"{name} {_bounds(d)}"


def _data(facts: CardFacts) -> str:
    t, digest = facts.demos.trajectories, facts.versions.get("demonstrations")
    lines = [
        f"{markdown_code(facts.source)}: {len(t)} episodes with {t.steps:,} steps"
        + ("" if t.act_dim else ", without actions")
        + f". {facts.origin}",
    ]
    if t.returns is not None:
        lines.append(f"Their mean return is {float(t.returns.mean()):.1f}.")
    if digest is not None:
        lines.append(f"SHA-256 of what was learned from: {markdown_code(digest)}.")
    return "## Data\n\n" + " ".join(lines)


def _settings(facts: CardFacts) -> str:
    near = preset_changes(facts.config)
    said = f"The preset {markdown_code(near.preset)}"
    if not near.changes:
        return f"## Settings\n\n{said}. All of them are in `config.json`."
    rows = [[name, *map(_value, pair)] for name, pair in near.changes.items()]
    table = markdown_table(("setting", "here", "preset"), rows)
    return f"## Settings\n\n{said}, but for:\n\n{table}\n\nAll of them are in `config.json`."


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _limits(facts: CardFacts) -> str:
    config, result = facts.config, facts.result
    said = [
        "It was learned and judged in simulation, in "
        f"{markdown_code(config.env)} with episodes of {config.horizon} steps. Nothing is known of "
        "other tasks, of longer episodes, or of the real world.",
        "One run with one random seed: others may end elsewhere.",
        "The cost is one of these demonstrations: a network may know them by heart, and a fresh "
        "policy need not learn from it.",
    ]
    if facts.rows and (p := facts.rows[0]["mmd2_mu"].get("p")) is not None:
        words = "can be told" if p < _TOLD_APART else "could not be told"
        said.append(f"By MMD² of μ, its episodes {words} from the demonstrations (p = {p:.2g}).")
    if config.mode != "terminating":
        said.append(f"It was learned in the mode {config.mode}, where episodes end in another way.")
    if (share := result.get("collapsed_share")) is not None and share > 0.0:
        said.append(f"In {100 * share:.0f} % of its cycles it was far behind its best.")
    said += [markdown_text(d["message"]) for d in result["diagnostics"]]
    return "## Limits\n\n" + "\n".join(f"- {sentence}" for sentence in said)


def _loading(facts: CardFacts) -> str:
    trust = trust_option(facts.config)
    return f"""## How to load it

```python
import etairl

policy = etairl.load("FOLDER")
action, _ = policy.predict(observation)
```

`FOLDER` is this folder, wherever it is. This needs no simulator and no demonstrations, and runs no
code of its own. With both, the folder is a run like any other:

```
etairl evaluate FOLDER{trust}
etairl render FOLDER -o clip.mp4{trust}
etairl explain FOLDER{trust}
etairl export FOLDER -o policy.onnx
```"""


def _versions(facts: CardFacts) -> str:
    known = {name: v for name, v in facts.versions.items() if name != "demonstrations"}
    listed = ", ".join(f"{markdown_text(k)} {markdown_text(v)}" for k, v in known.items())
    return f"## Versions\n\n{listed or 'They are not known'}."
