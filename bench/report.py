"""The one shape of all benchmarks: a JSON object, or a table with the same columns."""
import json
import math


def row(case, unit, ours, peers, limit, higher_is_better, **more):
    """A ratio or a share above 1 means that ours is better."""
    def better(other):
        return round(ours / other if higher_is_better else other / ours, 4)

    return {"case": case, "unit": unit, "higher_is_better": higher_is_better,
            "ours": round(ours, 4), "peers": {name: round(peer, 4) for name, peer in peers.items()},
            "ratio": {name: better(peer) for name, peer in peers.items()},
            "limit": round(limit, 4), "share": better(limit), **more}


def geomeans(rows):
    means = {}
    for name in dict.fromkeys(name for entry in rows for name in entry["ratio"]):
        logs = [math.log(entry["ratio"][name]) for entry in rows if name in entry["ratio"]]
        means[name] = round(math.exp(sum(logs) / len(logs)), 4)
    return means


def table(report):
    names = list(report["geomean"])
    lines = [f"{'':<30} {'unit':<5} {'ours':>8} {'limit':>8} {'share':>6}" +
             "".join(f" {name:>8} {'ratio':>6}" for name in names)]
    for entry in report["results"]:
        cells = "".join(f" {entry['peers'][name]:>8.3f} {entry['ratio'][name]:>6.3f}"
                        if name in entry["peers"] else f" {'-':>8} {'-':>6}" for name in names)
        lines.append(f"{entry['case']:<30} {entry['unit']:<5} {entry['ours']:>8.3f} "
                     f"{entry['limit']:>8.3f} {entry['share']:>6.3f}{cells}"
                     f"{'  busy' if entry['busy_turns'] else ''}")
    lines.append("geometric mean: " + ", ".join(f"{k} {v:.3f}" for k, v in report["geomean"].items()))
    return "\n".join(lines)


def show(bench, machine, rows, as_json):
    report = {"bench": bench, "machine": machine, "results": rows, "geomean": geomeans(rows)}
    print(json.dumps(report) if as_json else table(report))
