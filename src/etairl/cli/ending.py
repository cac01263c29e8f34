"""How a run ended, on the terminal: what the policy does now, what came before, what to do next."""

import shlex
from pathlib import Path
from typing import Any

from rich.text import Text

from etairl.cli.console import facts, out, table
from etairl.evaluation.floors import is_hint
from etairl.runs import read_result
from etairl.training.behaviour import titled
from etairl.training.config_files import read_config, trust_option
from etairl.training.deciding import MOST_RECOVERIES
from etairl.types import counted


def print_result(path: Path) -> None:
    """What a finished run has learned: its policy beside others, then how it got there."""
    result = read_result(path)
    fresh = result.get("fresh", [])
    out().print(Text.assemble(("finished", "bold"), f" {path}\n"), soft_wrap=True)
    if fresh:
        _print_fresh(fresh, result.get("kept", {}))
    facts("how it got there" if fresh else "result", _course(result))
    out().print("\nnext")
    trust, run = trust_option(read_config(path, trust=True)), shlex.quote(str(path))
    for command, what in (
        (f"etairl evaluate {run}{trust}", "more episodes, floors and intervals"),
        (f"etairl explain {run}{trust}", "a page: what did it learn to pay for?"),
        (f"etairl plot {run} -o curves.png", "its learning curves"),
        (f"etairl export {run} -o policy.onnx{trust}", "the policy for other programs"),
    ):
        out().print(f"  {command}   # {what}", soft_wrap=True)


def _print_fresh(rows: list[dict[str, Any]], kept: dict[str, Any]) -> None:
    """Everyone in fresh episodes, each beside an expert that acts in the same way."""
    which = f" (the policy of cycle {kept['cycle']})" if kept.get("policy") == "best" else ""
    solved = any(row["success"] is not None for row in rows)
    columns = ("", "return", "score", "MMD² mu", *(("solved",) if solved else ()))
    lines = []
    for row in rows:
        earned = row["return_mean"]
        cells = [
            "" if earned is None else f"{earned:z.1f} ± {row['return_std']:z.1f}",
            "" if row["score"] is None else f"{row['score']:.2f}",
            f"{row['mmd2_mu']['value']:z.4f}",
        ]
        if solved:
            cells.append("" if row["success"] is None else f"{100 * row['success']:.0f} %")
        lines.append([titled(row["name"], row["playing"]), *cells])
    table(columns, lines)
    notes = [f"{rows[0]['episodes']} fresh episodes of each{which}"]
    if any(row["score"] is not None for row in rows):
        notes.append("a score of 0 is random, 1 the expert")
    elif all(row["return_mean"] is None for row in rows if row["name"] != "random"):
        notes.append("there is no score: rewards are not known")
    else:
        notes.append("there is no score: the demonstrations have no rewards to compare with")
    beside = list(dict.fromkeys(r["beside"] for r in rows if r["name"] == rows[0]["name"]))
    notes.append(f"MMD² is the distance from {' and '.join(beside)}: near 0 is alike")
    out().print("; ".join(notes) + "\n")


def _course(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Why it stopped, what it kept, and its last cycles."""
    last, best = result["remaining"], result["best"]
    # The learner draws its actions: beside an expert that does, where there is one.
    alike = result.get("same_kind") or last
    mu, rho = alike["mmd2_mu"], alike["mmd2_rho"]
    beside_whom = f", from {alike['beside']}" if "beside" in alike else ""
    cycles = f"last {counted(last['cycles'], 'cycle')}, learning"
    rows = [
        *_decisions(result),
        ("transitions", f"{result['transitions']:,} in {counted(result['cycles'], 'cycle')}"),
        (
            "return",
            f"{last['return']:.1f} ± {last['return_std']:z.1f}, {cycles}",
        ),
    ]
    if "success" in last:
        rows.append(("tasks solved", f"{100 * last['success']:.1f} %, {cycles}"))
    if last.get("score") is not None:
        beside = last.get("score_beside", "the expert")
        rows.append(("score", f"{last['score']:.3f}; 0 is random, 1 is {beside}"))
    if result["expert_return"] is not None:
        rows.append(("demonstrations", f"{result['expert_return']:.1f}"))
    rows += [
        ("MMD² of mu", f"{_distance(mu)}{beside_whom}"),
        ("MMD² of rho", f"{_distance(rho)}{beside_whom}"),
        ("best cycle", f"{best['cycle']} with MMD² of mu {best['mmd2_mu']:z.5f}"),
    ]
    if result["collapsed_share"] is not None:
        by = "" if result.get("collapsed_by", "return") == "return" else ", by their MMD²"
        rows.append(("collapsed", f"{100 * result['collapsed_share']:.0f} % of cycles{by}"))
    return rows


def _decisions(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Why the run stopped and what it kept; runs of version 0.3 do not say."""
    rows = []
    if "stopped" in result:
        rows.append(("stopped", result["stopped"]["message"]))
    if result.get("kept", {}).get("policy") == "best":
        kept = result["kept"]
        rows.append(("kept", f"the policy that played cycle {kept['cycle']}: {kept['why']}"))
    if result.get("recoveries"):
        times = f"{result['recoveries']} of {MOST_RECOVERIES} times"
        rows.append(("recovered", f"{times}, by going back to the best policy"))
    return rows


def _distance(mmd2: dict[str, Any]) -> str:
    text = f"{mmd2['value']:z.5f} [{mmd2['low']:z.5f}, {mmd2['high']:z.5f}]"
    if mmd2["floor"] is None:
        return text
    hint = ", a hint" if is_hint(mmd2.get("floor_by")) else ""
    return f"{text}, expert against itself {mmd2['floor']:.5f}{hint}"
